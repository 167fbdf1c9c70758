/* One tracepoint with the data that cushim records of a launch with four arguments. */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "lttng-provider.h"

#if !defined(LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define LTTNG_PROVIDER_H
#include <lttng/tracepoint.h>
#include <stdint.h>

LTTNG_UST_TRACEPOINT_EVENT(bench, launch,
    LTTNG_UST_TP_ARGS(uint32_t, kernel, uint64_t, stream, uint64_t, context, const uint32_t *, shape,
                      const uint8_t *, arguments, uint64_t, end, int, status),
    LTTNG_UST_TP_FIELDS(
        lttng_ust_field_integer(uint32_t, kernel, kernel)
        lttng_ust_field_integer(uint32_t, shared, 0)
        lttng_ust_field_integer(uint64_t, stream, stream)
        lttng_ust_field_integer(uint64_t, context, context)
        lttng_ust_field_array(uint32_t, shape, shape, 6)
        lttng_ust_field_array(uint8_t, arguments, arguments, 28)
        lttng_ust_field_integer(uint64_t, end, end)
        lttng_ust_field_integer(int, status, status)))
#endif

#include <lttng/tracepoint-event.h>
