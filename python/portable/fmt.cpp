// fmt's compiled part, from its own headers: Debian ships it as a shared library alone, built for
// a later glibc than a wheel may ask for.
#include <fmt/format-inl.h>

// What fmt's headers say is compiled elsewhere, as far as wgrad calls it.
template auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref)
    -> fmt::detail::thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref) -> char;
