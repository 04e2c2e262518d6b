// Loaded into clang-tidy 14: its checks walk the project's declarations and not those of system
// headers, which are nearly all of a source and whose findings nobody sees. A third of the time.
#include <clang/AST/ASTConsumer.h>
#include <clang/AST/ASTContext.h>
#include <clang/Basic/SourceManager.h>
#include <clang/Frontend/FrontendPluginRegistry.h>

namespace {

class OwnCodeOnly : public clang::ASTConsumer {
  void HandleTranslationUnit(clang::ASTContext& context) override {
    const clang::SourceManager& sources = context.getSourceManager();
    std::vector<clang::Decl*> own;
    for (clang::Decl* decl : context.getTranslationUnitDecl()->decls()) {
      const clang::SourceLocation place = sources.getExpansionLoc(decl->getLocation());
      if (!sources.isInSystemHeader(place)) own.push_back(decl);
    }
    context.setTraversalScope(own);
  }
};

class Action : public clang::PluginASTAction {
  std::unique_ptr<clang::ASTConsumer> CreateASTConsumer(clang::CompilerInstance&,
                                                        llvm::StringRef) override {
    return std::make_unique<OwnCodeOnly>();
  }
  bool ParseArgs(const clang::CompilerInstance&, const std::vector<std::string>&) override {
    return true;
  }
  ActionType getActionType() override { return AddBeforeMainAction; }  // before the checks run
};

clang::FrontendPluginRegistry::Add<Action> registered("own-code-only", "skips system headers");

}  // namespace
