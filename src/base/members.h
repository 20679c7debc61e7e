// What tables of members are made of: the struct of a pointer to a member, and what stands for a struct in plain data.
#pragma once

namespace warpmark::members {

/// Its address stands for the type.
template <typename T>
inline constexpr char kTag = 0;

template <typename T>
struct MemberOf;
template <typename Class, typename T>
struct MemberOf<T Class::*> {
  using Owner = Class;
  using Value = T;
};

}  // namespace warpmark::members
