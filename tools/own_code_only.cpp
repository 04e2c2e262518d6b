// Loaded into clang-tidy 14: its checks walk the project's declarations and not those of system
// headers, which are nearly all of a source and whose findings nobody sees. What comes from
// precompiled headers is not even read.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/CompilerInstance.h>
#include <clang/Frontend/FrontendPluginRegistry.h>

namespace {

class OwnCodeOnly : public clang::ASTConsumer {
 public:
  explicit OwnCodeOnly(const clang::SourceManager& sources) : sources_(sources) {}

 private:
  bool HandleTopLevelDecl(clang::DeclGroupRef group) override {
    for (clang::Decl* decl : group) {
      const clang::SourceLocation place = sources_.getExpansionLoc(decl->getLocation());
      // Instantiations of templates stand inside other declarations: they are reached from there.
      const bool outermost = decl->getLexicalDeclContext()->isTranslationUnit();
      if (outermost && !decl->isFromASTFile() && !sources_.isInSystemHeader(place)) {
        own_.push_back(decl);
      }
    }
    return true;
  }
  void HandleTranslationUnit(clang::ASTContext& context) override {
    context.setTraversalScope(own_);
  }

  const clang::SourceManager& sources_;
  std::vector<clang::Decl*> own_;
};

class Action : public clang::PluginASTAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance& compiler,
                                                        llvm::StringRef) override {
    return std::make_unique<OwnCodeOnly>(compiler.getSourceManager());
  }
  bool ParseArgs(const clang::CompilerInstance&, const std::vector<std::string>&) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }  // before the checks run
};

clang::FrontendPluginRegistry::Add<Action> registered("own-code-only", "skips system headers");

}  // namespace
