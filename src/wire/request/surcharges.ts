import { isObject } from '../../json/object.ts';
import { fields } from '../../pricing/payload-fields.ts';
import { SERVICE_FIELDS, serviceFactor } from '../../pricing/service-factors.ts';
import type { Preset } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Fields } from './fields.ts';
import type { NamedModels } from './named-models.ts';

/** Request options that change its price from the list price. */
export interface Surcharges {
  /** Service options by field, except those left to the account's default. */
  terms: Readonly<Record<string, string>>;
  /** Names of other models that may answer, as the request writes them. */
  fallbacks: readonly string[];
  /** A field with unknown cost: another model may answer, or something without a price may be charged. */
  unknown: string | undefined;
}

/**
 * Fields with unknown cost: OpenRouter's presets, which may set another model, tools and limits
 * (https://openrouter.ai/docs/guides/features/presets); its option to exceed the limit of tool calls; and OpenAI's
 * multi-agent mode, in which a model starts agents with contexts of their own
 * (https://developers.openai.com/api/docs/guides/responses-multi-agent).
 */
const UNPRICED = ['preset', 'stop_server_tools_when', 'multi_agent'];

/**
 * Models that answer if the requested one doesn't: https://openrouter.ai/docs/guides/routing/model-fallbacks,
 * https://platform.claude.com/docs/en/build-with-claude/refusals-and-fallback
 */
const FALLBACKS = ['models', 'fallbacks'];
/** Fallback options that change neither price nor output limit. */
const FREE_OPTIONS: ReadonlySet<string> = new Set(['model', 'thinking', 'output_config']);

/** The value that leaves the service tier to the account's default. */
const ACCOUNT_DEFAULT = 'auto';

export const SURCHARGE_FIELDS: readonly string[] = [...SERVICE_FIELDS, ...UNPRICED, ...FALLBACKS];

/** A request's surcharges; undefined at list price. `named`: models that the request names besides `model`. */
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

/** Whether another model than the requested one may answer, judging by the request. */
export function mayAnswerOther(surcharges: Surcharges | undefined): boolean {
  return surcharges !== undefined && (surcharges.unknown !== undefined || surcharges.fallbacks.length > 0);
}

/** Whether a value is absent, or a list of names or of objects that name a model and don't change its price. */
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

/** The fields that responses report. */
const REPORTED: Readonly<Record<Preset['wire'], readonly string[]>> = {
  openai: ['service_tier'],
  anthropic: ['speed', 'inference_geo'],
  gemini: ['traffic_type'],
};
/** Providers whose reports are final. Others may offer the same option without a surcharge. */
const MAKERS: ReadonlySet<string> = new Set(['openai', 'azure', 'anthropic']);

/** Price factor of a response. Not known if no price page names the model. */
export interface BilledFactor {
  factor: number;
  isKnown: boolean;
}

/**
 * The price factor of a response. It can differ from the request's: a service tier may be the account's default, and a
 * provider may serve a lower tier than requested. Reports by the model's maker are final. For other providers the
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
  if (terms === NO_TERMS && !REPORTED[wire].some((field) => field in reported)) return AT_LIST;
  let factor = LISTED;
  let isKnown = true;
  const apply = (option: BilledFactor | undefined) => {
    factor *= option?.factor ?? LISTED;
    isKnown &&= option?.isKnown ?? true;
  };
  for (const field of SERVICE_FIELDS) {
    const requested = serviceFactor(field, terms[field], model);
    const served = REPORTED[wire].includes(field) ? serviceFactor(field, reported[field], model) : undefined;
    if (MAKERS.has(name)) apply(served ? discounted(reported[field], served) : requested);
    else apply(served && served.factor > (requested?.factor ?? LISTED) ? served : requested);
  }
  return { factor, isKnown };
}

/** OpenAI's flex tier costs half. The hold covers the full price. */
function discounted(value: unknown, option: BilledFactor): BilledFactor {
  return value === 'flex' ? { ...option, factor: LISTED / 2 } : option;
}

/** The factor of a field's value in a response's usage; undefined if the usage doesn't report it. */
export function reportedFactor(field: string, usage: unknown, model: string): number | undefined {
  return serviceFactor(field, fields(usage)[field], model)?.factor;
}

/** The factor of the list price. */
const LISTED = 1;
const AT_LIST: BilledFactor = { factor: LISTED, isKnown: true };
const NO_TERMS: Surcharges['terms'] = {};

function isEmpty(field: string, value: unknown): boolean {
  const isOff = field === 'multi_agent' && fields(value).enabled === false;
  return value === undefined || isOff || (Array.isArray(value) && value.length === 0);
}
