#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "call/call.hpp"
#include "call/spelling.hpp"

namespace wgrad::python {
namespace nb = nanobind;
using call::Options;
namespace {

/// Each kind of option from the Python value that stands for it; None leaves it alone.
void set(const char*, call::Extents to, nb::handle value) {
  std::tie(to.m, to.n) = nb::cast<std::pair<int, int>>(value);
}
void set(const char*, int& to, nb::handle value) {
  to = nb::cast<int>(value);
}
void set(const char*, std::optional<int>& to, nb::handle value) {
  to = nb::cast<int>(value);
}
void set(const char*, bool& to, nb::handle value) {
  to = nb::cast<bool>(value);
}
void set(const char*, std::string& to, nb::handle value) {
  to = nb::cast<std::string>(value);
}
void set(const char*, ScaleLayout& to, nb::handle compact) {
  to = nb::cast<bool>(compact) ? ScaleLayout::kCompact : ScaleLayout::kSwizzled;
}
void set(const char*, InputOrder& to, nb::handle value) {
  to = call::input_order_named(nb::cast<std::string_view>(value));
}
void set(const char* name, DType& to, nb::handle value) {
  to = call::dtype_named(nb::cast<std::string_view>(value), name);
}
void set(const char* name, std::optional<DType>& to, nb::handle value) {
  to = call::dtype_named(nb::cast<std::string_view>(value), name);
}

void init_options(Options* self, const nb::kwargs& given) {
  Options options;
  std::size_t known = 0;
  call::each_option(options, [&](const char* name, auto&& option) {
    if (!given.contains(name)) return;
    ++known;
    const nb::object value = given[name];
    if (!value.is_none()) set(name, option, value);
  });
  if (known != given.size()) throw nb::type_error("Options: an argument that is no option");
  new (self) Options(std::move(options));
}

nb::list names() {
  nb::list out;
  Options options;
  call::each_option(options, [&](const char* name, auto&&) { out.append(name); });
  return out;
}

/// Equal values may be others: True and 1.
bool same_objects(const nb::tuple& a, const nb::tuple& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](nb::handle x, nb::handle y) { return x.is(y); });
}

}  // namespace

void bind_options(nb::module_& module) {
  nb::enum_<call::Api>(module, "Api", "Whose argument names a message uses.")
      .value("SAMPLE", call::Api::kSample)
      .value("CALL", call::Api::kCall)
      .value("NATURAL", call::Api::kNatural);
  module.def("argument", call::argument, nb::arg("api"), nb::arg("field"),
             "What the functions of `api` call the core's `field`.");
  module.def("same_objects", same_objects, nb::arg("a"), nb::arg("b"),
             "Whether both tuples hold the same objects, not only equal ones.");
  nb::class_<Options>(module, "Options", "Everything but tensors of a call.")
      .def("__init__", init_options)
      .def_static("names", names, "What the constructor takes, by keyword.");
}

}  // namespace wgrad::python
