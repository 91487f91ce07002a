/* The encoder `compact`: from its streams to w_net. */
#ifndef COMPACT_H
#define COMPACT_H

#include "bytes.h"

typedef struct {
    const int64_t *sides;
    int axes;
} Shape;

typedef struct {
    double *vector;      /* w_net */
    unsigned char *kept; /* 1 for each weight that is not pruned */
    size_t weights;
    int wide; /* whether centroids are float64 */
} Weights;

int64_t elements_of(Shape shape);
unsigned char *unpack_bits(const unsigned char *bytes, size_t count);

/* `centroids` has no data where weights are not quantized; they are then of the type `values`. */
Weights decode_compact(Bytes mask, Bytes labels, Bytes centroids, const char *values, const Shape *shapes, int count);

#endif
