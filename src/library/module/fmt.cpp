// fmt as a part of libwarpmark.so. Debian has no archive of it, and a call to the shared one would reach the fmt of the
// program. This is src/format.cc of fmt, for char.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template dragonbox::decimal_fp<float> dragonbox::to_decimal(float value) noexcept;
template dragonbox::decimal_fp<double> dragonbox::to_decimal(double value) noexcept;
template thousands_sep_result<char> thousands_sep_impl(locale_ref locale);
template char decimal_point_impl(locale_ref locale);
#if FMT_VERSION >= 100000
template void vformat_to(buffer<char>& out, string_view format, format_args arguments, locale_ref locale);
#endif

}  // namespace detail
FMT_END_NAMESPACE
