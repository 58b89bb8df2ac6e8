/** The figures of a rollup row, as columns. */
export const COUNTERS = [
  'requests',
  'blocked_requests',
  'failed_requests',
  'unpriced_requests',
  'input_tokens',
  'cached_input_tokens',
  'cache_write_tokens',
  'output_tokens',
  'reasoning_tokens',
  'saved_tokens',
  'cost_nano_usd',
  'saved_nano_usd',
] as const;

/** For an upsert: what is there and what comes are added up. */
export const ADD_COUNTERS = `ON CONFLICT DO UPDATE SET ${COUNTERS.map((name) => `${name} = ${name} + excluded.${name}`).join(', ')}`;
