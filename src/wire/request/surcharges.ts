import { isObject } from '../../json/object.ts';
import { fields } from '../../pricing/payload-fields.ts';
import type { Preset } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Fields } from './fields.ts';
import type { NamedModels } from './named-models.ts';

/** Options of a request that change its price from the model's listed prices. */
export interface Surcharges {
  /** Price factor in tenths: 10 is the listed price. */
  priceTenths: number;
  /** The factor of each field that states its terms, in tenths; those that leave them to the account are left out. */
  byField: Readonly<Record<string, number>>;
  /** Other models that may answer, by the names that the request gives them. */
  fallbacks: readonly string[];
  /** A field with unknown cost: another model may answer, or something without a price may be charged. */
  unknown: string | undefined;
}

/**
 * The highest price factors in use, in tenths. OpenAI's priority or fast tier costs up to 2.5 times the listed price,
 * ultrafast 6 times: https://developers.openai.com/api/docs/guides/fast-mode. Anthropic's fast mode costs up to 6
 * times, inference in one country 1.1 times: https://platform.claude.com/docs/en/build-with-claude/fast-mode
 */
const FACTORS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  // biome-ignore format: equal factors share a line
  service_tier: {
    auto: 10, default: 10, flex: 10, standard: 10, standard_only: 10, on_demand: 10,
    priority: 25, fast: 25,
    ultrafast: 60,
  },
  speed: { standard: 10, fast: 60 },
  inference_geo: { global: 10, us: 11 },
};

/**
 * Fields with unknown cost: OpenRouter's presets, which may set another model,
 * tools and limits (https://openrouter.ai/docs/guides/features/presets); its option to exceed the limit of tool calls;
 * and OpenAI's multi-agent mode, where a model starts agents with contexts of their own
 * (https://developers.openai.com/api/docs/guides/responses-multi-agent).
 */
const UNPRICED = ['preset', 'stop_server_tools_when', 'multi_agent'];

/**
 * Lists of models that answer if the requested one doesn't: https://openrouter.ai/docs/guides/routing/model-fallbacks,
 * https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
 */
const FALLBACKS = ['models', 'fallbacks'];
/** Options of a fallback that leave its price and its output limit alone. */
const FREE_OPTIONS: ReadonlySet<string> = new Set(['model', 'thinking', 'output_config']);

/** Factor of the listed prices, in tenths. */
const LISTED = 10;
const PRICED = Object.keys(FACTORS);
/** The value that leaves a service tier to the account. */
const ACCOUNT_DEFAULT = 'auto';

/** All fields that affect surcharges. */
export const SURCHARGE_FIELDS: readonly string[] = [...PRICED, ...UNPRICED, ...FALLBACKS];

/** Undefined when the request leaves everything to the account. `named`: by the fields that gw doesn't know. */
export function surchargesOf(request: Fields, named: NamedModels): Surcharges | undefined {
  let byField: Record<string, number> | undefined;
  let unknown =
    UNPRICED.find((field) => !isEmpty(field, request.read(field))) ??
    FALLBACKS.find((field) => !isListOfModels(request.read(field))) ??
    named.hidden;
  for (const field of PRICED) {
    const value = request.read(field);
    if (value === undefined) continue;
    const factor = factorOf(field, value);
    if (factor === undefined) unknown ??= field;
    else if (value !== ACCOUNT_DEFAULT) byField = { ...byField, [field]: factor };
  }
  if (!byField && unknown === undefined && named.names.length === 0) return undefined;
  return {
    priceTenths: productOf(Object.values(byField ?? {})),
    byField: byField ?? {},
    fallbacks: named.names,
    unknown,
  };
}

/** Whether another model than the requested one may answer, as far as the request tells. */
export function mayAnswerOther(surcharges: Surcharges | undefined): boolean {
  return surcharges !== undefined && (surcharges.unknown !== undefined || surcharges.fallbacks.length > 0);
}

/** A list of names, or of objects that name a model and change nothing of its price; or nothing. */
function isListOfModels(value: unknown): boolean {
  if (value === undefined) return true;
  return (
    Array.isArray(value) &&
    value.every((each) => typeof each === 'string' || (isObject(each) && isPlainFallback(each)))
  );
}

function isPlainFallback(fallback: Record<string, unknown>): boolean {
  return (
    typeof fallback.model === 'string' &&
    Object.entries(fallback).every(
      ([key, value]) => FREE_OPTIONS.has(key) || value === null || (key === 'speed' && value === 'standard'),
    )
  );
}

/** The fields that answers report. */
const REPORTED: Readonly<Record<Preset['wire'], readonly string[]>> = {
  openai: ['service_tier'],
  anthropic: ['speed', 'inference_geo'],
};
/** Providers whose reports are final. Others may offer the same option without a surcharge. */
const MAKERS: ReadonlySet<string> = new Set(['openai', 'azure', 'anthropic']);

/**
 * Price factor that an answer is billed at, in tenths of the listed prices. It can differ from the request's: a service
 * tier may be the account's default, and a provider may serve a lower tier than requested. The report of the model's
 * maker is taken as it is; for other providers the higher of both factors applies.
 */
export function billedTenths(surcharges: Surcharges | undefined, usage: unknown, provider: Provider): number {
  const requested = surcharges?.byField ?? NO_FACTORS;
  const reported = fields(usage);
  let tenths = surcharges?.priceTenths ?? LISTED;
  for (const field of REPORTED[provider.wire]) {
    const before = requested[field] ?? LISTED;
    const after = factorOf(field, reported[field]) ?? before;
    const factor = MAKERS.has(provider.name)
      ? discounted(field, reported[field], after)
      : Math.max(after, before);
    if (factor !== before) tenths = Math.ceil((tenths * factor) / before);
  }
  return tenths;
}

/** OpenAI's flex tier costs half. The hold is for the full price. */
function discounted(field: string, value: unknown, tenths: number): number {
  return field === 'service_tier' && value === 'flex' ? LISTED / 2 : tenths;
}

/** The price factor of a field as an answer's usage reports it, in tenths; undefined if it reports none. */
export function reportedFactor(field: string, usage: unknown): number | undefined {
  return factorOf(field, fields(usage)[field]);
}

const NO_FACTORS: Surcharges['byField'] = {};

function factorOf(field: string, value: unknown): number | undefined {
  const factors = FACTORS[field];
  return factors && typeof value === 'string' && Object.hasOwn(factors, value) ? factors[value] : undefined;
}

function productOf(tenths: readonly number[]): number {
  return tenths.reduce((product, each) => Math.ceil((product * each) / LISTED), LISTED);
}

function isEmpty(field: string, value: unknown): boolean {
  const isOff = field === 'multi_agent' && fields(value).enabled === false;
  return value === undefined || isOff || (Array.isArray(value) && value.length === 0);
}
