import { z } from 'zod';
import { describe } from '../operation.ts';
import { count, listOf, usd } from './fields.ts';

const tierRates = {
  input_usd_per_million: usd.nullable(),
  output_usd_per_million: usd.nullable(),
  cached_input_usd_per_million: usd.nullable(),
  cache_write_usd_per_million: usd.nullable(),
};
const rates = {
  ...tierRates,
  cache_write_1h_usd_per_million: usd.nullable(),
  usd_per_request: usd.nullable(),
};

const media = {
  usd_per_image: usd.nullable(),
  usd_per_second: usd.nullable(),
  usd_per_million_characters: usd.nullable(),
};

/** A price that the user set. */
const Price = z.object({ provider: z.string().nullable(), model: z.string(), ...rates, ...media });

const PriceInForce = z.object({
  provider: z.string(),
  model: z.string(),
  ...rates,
  ...media,
  tiers: z.array(z.object({ over_tokens: count, ...tierRates })),
  service_prices: z
    .array(z.object({ field: z.string(), value: z.string(), factor: z.number() }))
    .describe('service options of the request, with the factor of the listed prices'),
  router_fee_usd_per_million: usd
    .nullable()
    .describe('what a router charges for input, beside the model that it chose'),
  source: z.string(),
});
export type PriceView = z.infer<typeof Price>;
export type PriceInForceView = z.infer<typeof PriceInForce>;

const admin = ['changing prices', 'gw prices set MODEL'] as const;
const rate = z.number().min(0).max(1_000_000);
const fee = z.number().min(0).max(1_000);

export const prices = describe({ summary: 'the prices that the user set', response: listOf(Price) });

export const setPrice = describe({
  summary: 'set the price of a model',
  admin,
  body: z.strictObject({
    provider: z.string().min(1).nullable().default(null).describe('null: at any provider'),
    model: z.string().min(1),
    input_usd_per_million: rate.nullable().default(null).describe('needed unless a price of media is set'),
    output_usd_per_million: rate.nullable().default(null),
    cached_input_usd_per_million: rate.nullable().default(null),
    cache_write_usd_per_million: rate.nullable().default(null),
    cache_write_1h_usd_per_million: rate.nullable().default(null),
    usd_per_request: fee.nullable().default(null),
    usd_per_image: fee.nullable().default(null),
    usd_per_second: fee.nullable().default(null),
    usd_per_million_characters: rate.nullable().default(null),
  }),
  response: Price,
});

export const removePrice = describe({
  summary: 'remove a price that the user set',
  admin,
  query: z.strictObject({ provider: z.string().default(''), model: z.string() }),
  response: z.object({ object: z.literal('price.deleted'), deleted: z.boolean() }),
});

export const pricesInForce = describe({
  summary: 'the price in force of a model, at its provider or at each that sells it',
  query: z.strictObject({ model: z.string().describe('provider/model, or the name of a model alone') }),
  response: listOf(PriceInForce),
});
