import { z } from 'zod';

// The messages of opentelemetry-proto 1.x in their JSON form, for what a trace or a metric can hold:
// https://github.com/open-telemetry/opentelemetry-proto/tree/main/opentelemetry/proto (common, resource, trace,
// metrics) and https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding: lowerCamelCase names, hex ids, enums as
// numbers, 64-bit integers as decimal text or numbers. Objects are strict: a field that the definitions lack is an error.

const hex = (digits: number) => z.string().regex(new RegExp(`^([0-9a-fA-F]{${digits}})?$`));
const uint64 = z.union([z.string().regex(/^\d+$/), z.int().min(0)]).transform(BigInt);
const int64 = z.union([z.string().regex(/^-?\d+$/), z.int()]).transform(Number);
const uint32 = z
  .int()
  .min(0)
  .max(2 ** 32 - 1);
const oneOf = <T extends z.ZodRawShape>(shape: T) =>
  z
    .strictObject(shape)
    .partial()
    .refine((value) => Object.keys(value).length <= 1, 'a oneof holds one field');

/** `AnyValue`; gw sends no arrays and no maps. */
const anyValue = oneOf({
  stringValue: z.string(),
  boolValue: z.boolean(),
  intValue: int64,
  doubleValue: z.number(),
});
/** `repeated KeyValue`, whose keys must be unique, as an object. */
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value: anyValue }))
  .refine((list) => new Set(list.map(({ key }) => key)).size === list.length, 'a key stands twice')
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]])))
  .default({});

const resource = z.strictObject({ attributes, droppedAttributesCount: uint32.optional() });
const scope = z.strictObject({
  name: z.string(),
  version: z.string().optional(),
  attributes,
  droppedAttributesCount: uint32.optional(),
});
const schemaUrl = z.string().optional();

const span = z.strictObject({
  traceId: hex(32),
  spanId: hex(16),
  traceState: z.string().optional(),
  parentSpanId: hex(16).optional(),
  flags: uint32.optional(),
  name: z.string().min(1),
  kind: z.int().min(0).max(5),
  startTimeUnixNano: uint64,
  endTimeUnixNano: uint64,
  attributes,
  droppedAttributesCount: uint32.optional(),
  events: z.array(z.never()).optional(),
  droppedEventsCount: uint32.optional(),
  links: z.array(z.never()).optional(),
  droppedLinksCount: uint32.optional(),
  status: z.strictObject({ message: z.string().optional(), code: z.int().min(0).max(2).default(0) }),
});

const point = {
  attributes,
  startTimeUnixNano: uint64,
  timeUnixNano: uint64,
  exemplars: z.array(z.never()).optional(),
  flags: uint32.optional(),
};
const aggregationTemporality = z.int().min(1).max(2);
const sum = z.strictObject({
  dataPoints: z.array(z.strictObject({ ...point, asDouble: z.number().optional(), asInt: int64.optional() })),
  aggregationTemporality,
  isMonotonic: z.boolean(),
});
const histogram = z.strictObject({
  dataPoints: z.array(
    z.strictObject({
      ...point,
      count: uint64,
      sum: z.number().optional(),
      bucketCounts: z.array(uint64),
      explicitBounds: z.array(z.number()),
      min: z.number().optional(),
      max: z.number().optional(),
    }),
  ),
  aggregationTemporality,
});
const metric = z.strictObject({
  name: z.string().min(1),
  description: z.string(),
  unit: z.string(),
  sum: sum.optional(),
  histogram: histogram.optional(),
});

/** `ExportTraceServiceRequest`. */
export const traceExport = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource,
      scopeSpans: z.array(z.strictObject({ scope, spans: z.array(span), schemaUrl })),
      schemaUrl,
    }),
  ),
});
/** `ExportMetricsServiceRequest`. */
export const metricsExport = z.strictObject({
  resourceMetrics: z.array(
    z.strictObject({
      resource,
      scopeMetrics: z.array(z.strictObject({ scope, metrics: z.array(metric), schemaUrl })),
      schemaUrl,
    }),
  ),
});

export type Span = z.infer<typeof span>;
export type Metric = z.infer<typeof metric>;
