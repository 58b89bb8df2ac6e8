import type { ModelPrice } from '@pydantic/genai-prices';
import { z } from 'zod';
import { messageOf } from '../../errors.ts';
import {
  findInLibrary,
  LIBRARY_PROVIDERS,
  type PublishedPrices,
  packagedPrices,
  setPrices,
} from '../library.ts';
import { pricesFromLibrary } from '../library-prices.ts';

/** A downloaded price file that gw rejects. The message gives the reason. */
export class PriceFileError extends Error {}

/** Size limits. The published file has 0.4 MB, 36 providers and 1,500 models. */
export const MAX_FILE_BYTES = 8 * 1024 * 1024;
const MAX_PROVIDERS = 500;
const MAX_MODELS = 5_000;
const MAX_PRICES = 100;
const MAX_DEPTH = 8;

/** A price that counts as unknown, for models also charged in an unknown way, which would seem too cheap. */
const UNKNOWN_PRICE = { requests_kcount: 0 };

const name = z.string().min(1).max(200);
const amount = z.number().min(0).max(1_000_000);
const price = z.union([
  amount,
  z.object({
    base: amount,
    tiers: z.array(z.object({ start: z.number().int().min(0), price: amount })).max(20),
  }),
]);
const prices = z.record(name, price).refine((each) => Object.keys(each).length <= MAX_PRICES);
const constraint = z.union([
  z.strictObject({ start_date: z.iso.date(), type: z.literal('start_date').default('start_date') }),
  z.strictObject({
    start_time: name,
    end_time: name,
    type: z.literal('time_of_date').default('time_of_date'),
  }),
]);
const datedPrices = z
  .array(z.object({ constraint: constraint.optional(), prices }))
  .min(1)
  .max(MAX_PRICES);

type Match = { [kind: string]: string | Match[] };
const LEAVES = ['equals', 'starts_with', 'ends_with', 'contains', 'regex'] as const;

/** Schema of the rules that match model names. Nesting is bounded, because the library evaluates them recursively. */
function match(depth: number): z.ZodType<Match> {
  const leaves = LEAVES.map((kind) => z.strictObject({ [kind]: name }));
  if (depth === 0) return z.union(leaves);
  const inner = z.array(match(depth - 1)).max(1_000);
  return z.union([...leaves, z.strictObject({ or: inner }), z.strictObject({ and: inner })]);
}

/** The fields that a lookup reads; others are dropped. */
const file = z
  .array(
    z.object({
      id: name,
      name,
      api_pattern: z.string().transform(() => '(?!)'),
      fallback_model_providers: z.array(name).max(50).optional(),
      models: z
        .array(
          z.object({
            id: name,
            match: match(MAX_DEPTH),
            context_window: z.number().int().min(1).max(1e9).optional(),
            prices: z.union([datedPrices, prices]),
          }),
        )
        .max(MAX_MODELS),
    }),
  )
  .min(1)
  .max(MAX_PROVIDERS);

/** The prices in a published file, for the providers that gw looks up. Throws PriceFileError if the file is damaged. */
export function parsePriceFile(text: string): PublishedPrices {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new PriceFileError(`it isn't JSON: ${messageOf(error)}`);
  }
  const parsed = file.safeParse(value);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new PriceFileError(`${place(value, issue?.path ?? [])}: ${issue?.message ?? 'unknown shape'}`);
  }
  const reached = withKnownKinds(reachedProviders(parsed.data as unknown as PublishedPrices));
  refuseSlowExpressions(reached);
  refuseUnreadable(reached);
  return reached;
}

/** The ids of the provider and model that a path leads into. */
function place(value: unknown, path: readonly PropertyKey[]): string {
  let at = value;
  const names: string[] = [];
  for (const part of path) {
    at = (at as Record<PropertyKey, unknown> | undefined)?.[part];
    const id = (at as { id?: unknown } | null | undefined)?.id;
    if (typeof id === 'string') names.push(id.slice(0, 100));
  }
  return [names.join('/'), path.join('.')].filter(Boolean).join(', ') || 'the file';
}

function reachedProviders(all: PublishedPrices): PublishedPrices {
  const ids = new Set(LIBRARY_PROVIDERS.values());
  const byId = new Map(all.map((each) => [each.id, each]));
  if (byId.size < all.length) throw new PriceFileError('it has a provider twice');
  const reached = [];
  // The loop also visits the makers added here.
  for (const id of ids) {
    const provider = byId.get(id);
    if (!provider) throw new PriceFileError(`it lacks the provider ${id}`);
    reached.push(provider);
    for (const maker of provider.fallback_model_providers ?? []) if (byId.has(maker)) ids.add(maker);
  }
  return reached;
}

/** The data without prices of kinds that this version of the library doesn't know. Their models become unpriced. */
function withKnownKinds(providers: PublishedPrices): PublishedPrices {
  const all = packagedPrices().flatMap(({ models }) => models.flatMap((model) => modelPrices(model.prices)));
  const kinds = new Set(all.flatMap((each) => Object.keys(each)));
  const knownPrice = (each: ModelPrice) =>
    Object.keys(each).every((kind) => kinds.has(kind)) ? each : UNKNOWN_PRICE;
  return providers.map((provider) => ({
    ...provider,
    models: provider.models.map((model) => ({
      ...model,
      prices: Array.isArray(model.prices)
        ? model.prices.map((dated) => ({ ...dated, prices: knownPrice(dated.prices) }))
        : knownPrice(model.prices),
    })),
  }));
}

function modelPrices(prices: PublishedPrices[number]['models'][number]['prices']): ModelPrice[] {
  return Array.isArray(prices) ? prices.map((dated) => dated.prices) : [prices];
}

/** Model names come from clients, so every expression must take linear time. */
function refuseSlowExpressions(providers: PublishedPrices): void {
  const models = providers.flatMap((provider) => provider.models);
  for (const source of new Set(models.flatMap((model) => patternsIn(model.match)))) {
    const quotedSource = JSON.stringify(source);
    if (!isLinear(source))
      throw new PriceFileError(`the regular expression ${quotedSource} can't be proven to take linear time`);
    try {
      new RegExp(source);
    } catch (error) {
      throw new PriceFileError(`the regular expression ${quotedSource} can't be read: ${messageOf(error)}`);
    }
  }
}

function patternsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  if ('regex' in node) return [String(node.regex)];
  return Object.values(node).flat().flatMap(patternsIn);
}

/** Looks up every model once, so that the library's errors appear now and not at a request. */
function refuseUnreadable(providers: PublishedPrices): void {
  const now = Date.now();
  try {
    setPrices(providers);
    for (const [ours, theirs] of LIBRARY_PROVIDERS) {
      for (const { id, prices: all } of providers.find((each) => each.id === theirs)?.models ?? []) {
        const starts = (Array.isArray(all) ? all : []).flatMap(({ constraint: when }) =>
          when?.type === 'start_date' ? [Date.parse(when.start_date)] : [],
        );
        for (const atMs of [now, ...starts]) {
          const entry = findInLibrary(ours, id, atMs);
          if (entry) pricesFromLibrary(entry.modelId, entry.prices);
        }
      }
    }
  } catch (error) {
    throw new PriceFileError(`its prices can't be read: ${messageOf(error)}`);
  } finally {
    setPrices(undefined);
  }
}

/** Characters, escapes and classes; groups and lookaheads; operators; quantifiers. */
const TOKEN =
  /\\[dDwWsSbB^$\\.*+?()[\]{}|/-]|\[(?:[^\\\]]|\\.)+\]|\(\?[:!=]|[()|^$.*+?]|\{\d{1,2}\}|[^\\[\](){}|^$.*+?]/y;
const UNBOUNDED = /^[*+]$/;
const CHOICE = /^[?|]$/;
/** Tokens that no quantifier may follow, quantifiers included. */
const UNREPEATABLE = /^[(|^$*+?{]/;
const MAX_CHOICES = 12;

/**
 * Whether an expression provably takes linear time for any text. That holds if no group is repeated, the number of
 * alternatives is bounded by a constant, and at most one repetition is unbounded and follows `^`: matching then tries
 * one end position after another, and the rest has a fixed length.
 */
export function isLinear(source: string): boolean {
  let choices = 0;
  let unbounded = 0;
  let depth = 0;
  let isSplit = false;
  let last = '';
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < source.length) {
    const token = TOKEN.exec(source)?.[0];
    if (token === undefined) return false;
    const isQuantifier =
      UNBOUNDED.test(token) || token === '?' || (token.length > 1 && token.startsWith('{'));
    if (isQuantifier && (last === '' || UNREPEATABLE.test(last))) return false;
    if (isQuantifier && last === ')' && token !== '?') return false;
    if (token.startsWith('(')) depth++;
    if (token === ')') depth--;
    if (token === '|' && depth === 0) isSplit = true;
    if (CHOICE.test(token)) choices++;
    if (UNBOUNDED.test(token)) unbounded++;
    last = token;
  }
  const isAnchored = source.startsWith('^') && !isSplit;
  return choices <= MAX_CHOICES && unbounded <= (isAnchored ? 1 : 0);
}
