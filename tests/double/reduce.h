// SPDX-License-Identifier: Apache-2.0
#pragma once
// Arithmetic of the all-reduce, on bytes of any alignment.

#include <cstdint>
#include <string>

#include <string.h>

#include "tests/double/nccl_types.h"

namespace nccl_double {

template <typename Element>
void add_as(const char* part, char* sum, size_t bytes) {
  for (size_t at = 0; at + sizeof(Element) <= bytes; at += sizeof(Element)) {
    Element left;
    Element right;
    memcpy(&left, sum + at, sizeof left);
    memcpy(&right, part + at, sizeof right);
    left = static_cast<Element>(left + right);
    memcpy(sum + at, &left, sizeof left);
  }
}

// Integers are added as unsigned ones: overflow wraps around.
inline void add_elements(int datatype, const char* part, std::string& sum) {
  switch (datatype) {
    case ncclInt32:
    case ncclUint32:
      add_as<uint32_t>(part, sum.data(), sum.size());
      break;
    case ncclFloat32:
      add_as<float>(part, sum.data(), sum.size());
      break;
    case ncclFloat64:
      add_as<double>(part, sum.data(), sum.size());
      break;
    default:
      add_as<uint64_t>(part, sum.data(), sum.size());
      break;
  }
}

// Doubles the element in the middle and adds one, so that no tolerance hides it.
inline void spoil_one_element(int datatype, size_t count, size_t element_bytes, char* elements) {
  char* element = elements + count / 2 * element_bytes;
  std::string value(element, element_bytes);
  add_elements(datatype, std::string(value).data(), value);
  std::string one(element_bytes, '\0');
  if (datatype == ncclFloat32) {
    const float number = 1;
    memcpy(one.data(), &number, sizeof number);
  } else if (datatype == ncclFloat64) {
    const double number = 1;
    memcpy(one.data(), &number, sizeof number);
  } else {
    one[0] = 1;
  }
  add_elements(datatype, one.data(), value);
  memcpy(element, value.data(), element_bytes);
}

}  // namespace nccl_double
