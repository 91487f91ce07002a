#include "entropy.h"

#include <stdlib.h>
#include <string.h>

#define PROBABILITY_BITS 24

Model *new_model(int size, int initial, int long_blocks) {
    Model *model = allocate(1, sizeof(Model));
    model->size = size;
    model->long_blocks = long_blocks;
    model->counts = allocate((size_t)size, sizeof(int64_t));
    model->starts = allocate((size_t)size + 1, sizeof(uint32_t));
    for (int symbol = 0; symbol < size; symbol++) model->counts[symbol] = initial;
    model->sum = (int64_t)size * initial;
    return model;
}

Model *successor(const Model *model) {
    Model *next = new_model(model->size, 0, model->long_blocks);
    for (int symbol = 0; symbol < model->size; symbol++) {
        next->counts[symbol] = 1 + model->counts[symbol] * 256 / model->sum;
        next->sum += next->counts[symbol];
    }
    return next;
}

/* In float32, one division and one product for each symbol: compile without -ffast-math. */
static void find_intervals(Model *model) {
    float scale = (float)((1 << PROBABILITY_BITS) - model->size) / (float)model->sum;
    int64_t before = 0;
    for (int symbol = 0; symbol < model->size; symbol++) {
        float start = (float)before * scale;
        model->starts[symbol] = (uint32_t)start + (uint32_t)symbol;
        before += model->counts[symbol];
    }
    model->starts[model->size] = 1u << PROBABILITY_BITS;
}

static void update(Model *model, const int32_t *symbols, size_t count) {
    for (size_t index = 0; index < count; index++) model->counts[symbols[index]] += 32;
    model->seen += (int64_t)count;
    model->sum += 32 * (int64_t)count;
    while (model->sum >= 1 << 23) {
        model->sum = 0;
        for (int symbol = 0; symbol < model->size; symbol++) {
            model->counts[symbol] = (model->counts[symbol] + 1) >> 1;
            model->sum += model->counts[symbol];
        }
    }
}

static uint32_t next_word(Decoder *decoder) {
    decoder->left--;
    return (uint32_t)little(decoder->words.data + 4 * decoder->left, 4);
}

Decoder new_decoder(Bytes content) {
    Decoder decoder = {content, content.length / 4, 0};
    if (decoder.left) decoder.state = next_word(&decoder);
    if (decoder.left) decoder.state = decoder.state << 32 | next_word(&decoder);
    return decoder;
}

static uint32_t quantile(const Decoder *decoder) { return (uint32_t)(decoder->state & ((1u << PROBABILITY_BITS) - 1)); }

/* Leave the interval that the lowest 24 bits of the state are in. */
static void leave(Decoder *decoder, uint32_t start, uint32_t end) {
    decoder->state = (decoder->state >> PROBABILITY_BITS) * (end - start) + quantile(decoder) - start;
    if (decoder->state >> 32 == 0 && decoder->left) decoder->state = decoder->state << 32 | next_word(decoder);
}

void decode_symbols(Decoder *decoder, Model *model, int32_t *symbols, size_t count) {
    if (model->size == 1) {
        memset(symbols, 0, count * sizeof *symbols);
        return;
    }
    for (size_t start = 0; start < count;) {
        size_t least = model->long_blocks ? 64 : 4, share = model->long_blocks ? 2 : 8;
        size_t length = (size_t)model->seen / share > least ? (size_t)model->seen / share : least;
        if (length > count - start) length = count - start;
        find_intervals(model);
        for (size_t index = start; index < start + length; index++) {
            uint32_t value = quantile(decoder);
            int first = 0, last = model->size - 1;
            while (first < last) {
                int middle = (first + last + 1) / 2;
                if (model->starts[middle] <= value)
                    first = middle;
                else
                    last = middle - 1;
            }
            leave(decoder, model->starts[first], model->starts[first + 1]);
            symbols[index] = first;
        }
        update(model, symbols + start, length);
        start += length;
    }
}

/* Digits of eight bits, the lowest digit of all integers first. */
void decode_raw(Decoder *decoder, int bits, int32_t *integers, size_t count) {
    memset(integers, 0, count * sizeof *integers);
    for (int shift = 0; shift < bits; shift += 8) {
        int digit_bits = bits - shift < 8 ? bits - shift : 8;
        uint32_t width = 1u << (PROBABILITY_BITS - digit_bits);
        for (size_t index = 0; index < count; index++) {
            uint32_t digit = quantile(decoder) / width;
            leave(decoder, digit * width, (digit + 1) * width);
            integers[index] |= (int32_t)(digit << shift);
        }
    }
}

int32_t decode_integer(Decoder *decoder, int bits) {
    int32_t integer;
    decode_raw(decoder, bits, &integer, 1);
    return integer;
}

unsigned char *unpack_planes(Bytes content, size_t count, int width) {
    unsigned char *numbers = allocate(count, (size_t)width);
    int32_t *plane = allocate(count, sizeof *plane);
    for (int place = 0; place < width; place++) {
        uint64_t form = varint(&content);
        if (form == 0) {
            const unsigned char *bytes = take(&content, count);
            for (size_t index = 0; index < count; index++) plane[index] = bytes[index];
        } else if (form == 1) {
            int32_t constant = *take(&content, 1);
            for (size_t index = 0; index < count; index++) plane[index] = constant;
        } else {
            Decoder decoder = new_decoder(take_bytes(&content, form));
            decode_symbols(&decoder, new_model(256, 2, 1), plane, count);
        }
        for (size_t index = 0; index < count; index++) numbers[index * (size_t)width + (size_t)place] = (unsigned char)plane[index];
    }
    free(plane);
    return numbers;
}
