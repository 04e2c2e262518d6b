// The buffer protocol as CPython 3.10 to 3.14 have it. Its names joined the limited API in 3.11,
// and have kept their layout and values since 3.0. Source: PEP 3118; Include/cpython/object.h
// of 3.10.
#pragma once

#include <Python.h>

#if defined(Py_LIMITED_API) && Py_LIMITED_API < 0x030B0000
// NOLINTBEGIN(readability-identifier-naming): Python's names
extern "C" {

struct Py_buffer {
  void* buf;
  PyObject* obj;
  Py_ssize_t len;
  Py_ssize_t itemsize;
  int readonly;
  int ndim;
  char* format;
  Py_ssize_t* shape;
  Py_ssize_t* strides;
  Py_ssize_t* suboffsets;
  void* internal;
};

constexpr int PyBUF_RECORDS_RO = 0x0010 | 0x0008 | 0x0004;  // strides, shape, format

int PyObject_CheckBuffer(PyObject* object);
int PyObject_GetBuffer(PyObject* object, Py_buffer* view, int flags);
void PyBuffer_Release(Py_buffer* view);
}
// NOLINTEND(readability-identifier-naming)
#endif
