/* Element types by their names. */
#ifndef NUMBERS_H
#define NUMBERS_H

#include <stddef.h>

int width_of(const char *dtype); /* bytes of an element */
int is_float(const char *dtype); /* a real floating-point type */
double *widen(const unsigned char *bytes, size_t count, const char *dtype);
double round_to(double value, const char *dtype); /* to nearest, ties to even */
unsigned char *store(const double *values, size_t count, const char *dtype, size_t *bytes); /* float32; float64 as it is */

#endif
