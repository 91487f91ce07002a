/* Entropy coding under adaptive models, and byte planes. */
#ifndef ENTROPY_H
#define ENTROPY_H

#include "bytes.h"

typedef struct {
    int size, long_blocks;
    int64_t *counts;
    int64_t sum, seen;
    uint32_t *starts; /* of the interval of each symbol, and 2^24 */
} Model;

Model *new_model(int size, int initial, int long_blocks);
Model *successor(const Model *model);

typedef struct {
    Bytes words;
    size_t left; /* words that are not read */
    uint64_t state;
} Decoder;

Decoder new_decoder(Bytes content);
void decode_symbols(Decoder *decoder, Model *model, int32_t *symbols, size_t count);
void decode_raw(Decoder *decoder, int bits, int32_t *integers, size_t count);
int32_t decode_integer(Decoder *decoder, int bits);

unsigned char *unpack_planes(Bytes content, size_t count, int width);

#endif
