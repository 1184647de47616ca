// Replaces <nlohmann/json.hpp> in every file of the project: that header, and a destructor of JSON
// values that allocates nothing.
#pragma once
#pragma GCC system_header

#include_next <nlohmann/json.hpp>

#if NLOHMANN_JSON_VERSION_MAJOR == 3 && NLOHMANN_JSON_VERSION_MINOR == 11 && \
    NLOHMANN_JSON_VERSION_PATCH <= 2

NLOHMANN_JSON_NAMESPACE_BEGIN

/// The original moves the elements to a new vector, to avoid deep recursion for a deeply nested
/// value; when memory runs out, that throws in a destructor, which ends the program. This one walks
/// down and up again in place: while it is in a container, the element through which it came (the
/// last of an array or the first of an object) holds the container above.
template <>
inline void json::json_value::destroy(json::value_t t) {
  using value_t = json::value_t;
  const auto free_one = [](auto* one) {
    std::allocator<std::remove_pointer_t<decltype(one)>> alloc;
    std::allocator_traits<decltype(alloc)>::destroy(alloc, one);
    std::allocator_traits<decltype(alloc)>::deallocate(alloc, one, 1);
  };
  if (t == value_t::string) return free_one(string);
  if (t == value_t::binary) return free_one(binary);
  if (t != value_t::array && t != value_t::object) return;

  json_value here = *this;
  value_t here_is = t;
  json_value above = {};
  value_t above_is = value_t::null;  // the outermost container
  const auto next_in = [](json_value in, value_t is) -> json* {
    if (is == value_t::array) return in.array->empty() ? nullptr : &in.array->back();
    return in.object->empty() ? nullptr : &in.object->begin()->second;
  };
  const auto drop_next = [](json_value in, value_t is) {
    if (is == value_t::array) {
      in.array->pop_back();
    } else {
      in.object->erase(in.object->begin());
    }
  };
  while (true) {
    json* const next = next_in(here, here_is);
    if (next != nullptr && (next->m_type == value_t::array || next->m_type == value_t::object)) {
      const json_value below = next->m_value;
      const value_t below_is = next->m_type;
      next->m_value = above;
      next->m_type = above_is;
      above = here;
      above_is = here_is;
      here = below;
      here_is = below_is;
      continue;
    }
    if (next != nullptr) {
      drop_next(here, here_is);
      continue;
    }
    if (here_is == value_t::array) {
      free_one(here.array);
    } else {
      free_one(here.object);
    }
    if (above_is == value_t::null) return;
    json* const came_through = next_in(above, above_is);
    here = above;
    here_is = above_is;
    above = came_through->m_value;
    above_is = came_through->m_type;
    came_through->m_value = {};
    came_through->m_type = value_t::null;
    drop_next(here, here_is);
  }
}

NLOHMANN_JSON_NAMESPACE_END

#endif
