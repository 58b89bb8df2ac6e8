import { isObject } from '../../json/object.ts';
import { fields } from '../../pricing/payload-fields.ts';
import { factorOf, SERVICE_FIELDS, serviceFactor } from '../../pricing/service-factors.ts';
import type { Preset } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Fields } from './fields.ts';
import type { NamedModels } from './named-models.ts';

/** Options of a request that change its price from the model's listed prices. */
export interface Surcharges {
  /** The value of each field that states its terms; those that leave them to the account are left out. */
  terms: Readonly<Record<string, string>>;
  /** Other models that may answer, by the names that the request gives them. */
  fallbacks: readonly string[];
  /** A field with unknown cost: another model may answer, or something without a price may be charged. */
  unknown: string | undefined;
}

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

/** The value that leaves a service tier to the account. */
const ACCOUNT_DEFAULT = 'auto';

/** All fields that affect surcharges. */
export const SURCHARGE_FIELDS: readonly string[] = [...SERVICE_FIELDS, ...UNPRICED, ...FALLBACKS];

/** Undefined when the request leaves everything to the account. `named`: by the fields that gw doesn't know. */
export function surchargesOf(request: Fields, named: NamedModels): Surcharges | undefined {
  let terms: Record<string, string> | undefined;
  let unknown =
    UNPRICED.find((field) => !isEmpty(field, request.read(field))) ??
    FALLBACKS.find((field) => !isListOfModels(request.read(field))) ??
    named.hidden;
  for (const field of SERVICE_FIELDS) {
    const value = request.read(field);
    if (value === undefined) continue;
    if (serviceFactor(field, value, '') === undefined) unknown ??= field;
    else if (value !== ACCOUNT_DEFAULT) terms = { ...terms, [field]: String(value) };
  }
  if (!terms && unknown === undefined && named.names.length === 0) return undefined;
  return { terms: terms ?? NO_TERMS, fallbacks: named.names, unknown };
}

/** What the request's own terms cost at a model, as a factor of its listed prices. */
export function heldFactor({ terms }: Surcharges, model: string): number {
  return factorOf(terms, model);
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

/** What an answer is billed at, as a factor of the listed prices; not known where no page names the model's. */
export interface BilledFactor {
  factor: number;
  isKnown: boolean;
}

/**
 * The factor of an answer. It can differ from the request's: a service tier may be the account's default, and a provider
 * may serve a lower tier than requested. The report of the model's maker is taken as it is; for other providers the
 * higher of both factors applies.
 */
export function billedFactor(
  surcharges: Surcharges | undefined,
  usage: unknown,
  { wire, name }: Provider,
  model: string,
): BilledFactor {
  const terms = surcharges?.terms ?? NO_TERMS;
  const reported = fields(usage);
  let factor = LISTED;
  let isKnown = true;
  const apply = (option: BilledFactor | undefined) => {
    factor *= option?.factor ?? LISTED;
    isKnown &&= option?.isKnown ?? true;
  };
  for (const field of SERVICE_FIELDS) {
    const asked = serviceFactor(field, terms[field], model);
    const served = REPORTED[wire].includes(field) ? serviceFactor(field, reported[field], model) : undefined;
    if (MAKERS.has(name)) apply(served ? discounted(reported[field], served) : asked);
    else apply(served && served.factor > (asked?.factor ?? LISTED) ? served : asked);
  }
  return { factor, isKnown };
}

/** OpenAI's flex tier costs half. The hold is for the full price. */
function discounted(value: unknown, option: BilledFactor): BilledFactor {
  return value === 'flex' ? { ...option, factor: LISTED / 2 } : option;
}

/** The factor of a field's value as an answer's usage reports it; undefined if it reports none. */
export function reportedFactor(field: string, usage: unknown, model: string): number | undefined {
  return serviceFactor(field, fields(usage)[field], model)?.factor;
}

/** The listed price. */
const LISTED = 1;
const NO_TERMS: Surcharges['terms'] = {};

function isEmpty(field: string, value: unknown): boolean {
  const isOff = field === 'multi_agent' && fields(value).enabled === false;
  return value === undefined || isOff || (Array.isArray(value) && value.length === 0);
}
