import { z } from 'zod';

export const time = z.iso.datetime().describe('UTC');
export const count = z.number().int().min(0);
export const usd = z.number().describe('US dollars, at most 9 decimal places');
export const nanoUsd = z.number().int().describe('billionths of a US dollar');

/** The schema of `usdFields` (money.ts). */
export const money = <Name extends string>(name: Name, about?: string) =>
  ({
    [`${name}_usd`]: about === undefined ? usd : usd.describe(about),
    [`${name}_nano_usd`]: nanoUsd,
  }) as Record<`${Name}_usd` | `${Name}_nano_usd`, typeof usd>;

/** The project that a list is limited to. */
export const only_project = z.string().optional().describe('only this project');

export const listOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ object: z.literal('list'), data: z.array(item) });

export const deletedOf = <Name extends string>(name: Name) =>
  z.object({ object: z.literal(`${name}.deleted` as const), id: z.string(), deleted: z.boolean() });

export const timeParameter = z.iso.datetime({
  offset: true,
  error: 'use an ISO 8601 time such as 2026-01-31T12:00:00Z',
});

export const MAX_PAGE = 1_000;

export const page_size = z.coerce
  .number({ error: `use a whole number from 1 to ${MAX_PAGE}` })
  .int()
  .min(1)
  .max(MAX_PAGE);
