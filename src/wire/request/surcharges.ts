import { fields } from '../../pricing/payload-fields.ts';
import type { Preset } from '../../providers/presets.ts';
import type { Provider } from '../../providers/registry.ts';
import type { Fields } from './fields.ts';

/** What a request asks for that its provider charges otherwise than by the price of the model. */
export interface Surcharges {
  /** The prices are so many tenths of the listed ones. */
  priceTenths: number;
  /** Of that, what each field is worth. */
  byField: Readonly<Record<string, number>>;
  /** A field by which another model may answer, or something else be charged for that has no price here. */
  unknown: string | undefined;
}

/**
 * The dearest factors in use, in tenths. OpenAI's priority or fast tier (up to 2.5 times) and ultrafast (6 times):
 * https://developers.openai.com/api/docs/guides/fast-mode; Anthropic's fast mode (up to 6 times) and inference in one
 * country (1.1 times): https://platform.claude.com/docs/en/build-with-claude/fast-mode
 */
const FACTORS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  service_tier: {
    ...{ auto: 10, default: 10, flex: 10, standard: 10, standard_only: 10, on_demand: 10 },
    ...{ priority: 25, fast: 25, ultrafast: 60 },
  },
  speed: { standard: 10, fast: 60 },
  inference_geo: { global: 10, us: 11 },
};

/**
 * Other models to answer in the asked one's stead (OpenRouter, Anthropic), what OpenRouter keeps of requests under a name
 * (another model, tools, limits: https://openrouter.ai/docs/guides/features/presets), that which makes it pass over the
 * limit of its tools' calls, and further agents that OpenAI lets a model start, each with a context of its own
 * (https://developers.openai.com/api/docs/guides/responses-multi-agent).
 */
const UNPRICED = ['models', 'fallbacks', 'preset', 'stop_server_tools_when', 'multi_agent'];

const LISTED = 10;
const PRICED = Object.keys(FACTORS);

/** The fields that are read here. */
export const SURCHARGE_FIELDS: readonly string[] = [...PRICED, ...UNPRICED];

/** Undefined where the listed prices hold. */
export function surchargesOf(request: Fields): Surcharges | undefined {
  let byField: Record<string, number> | undefined;
  let unknown = UNPRICED.find((field) => !isEmpty(field, request.read(field)));
  for (const field of PRICED) {
    const value = request.read(field);
    if (value === undefined) continue;
    const known = factorOf(field, value);
    if (known === undefined) unknown ??= field;
    else if (known !== LISTED) byField = { ...byField, [field]: known };
  }
  if (!byField && unknown === undefined) return undefined;
  return { priceTenths: productOf(Object.values(byField ?? {})), byField: byField ?? {}, unknown };
}

/** Which of them an answer reports, and where that is all there is to it: another may have them without a surcharge. */
const REPORTED: Readonly<Record<Preset['wire'], readonly string[]>> = {
  openai: ['service_tier'],
  anthropic: ['speed', 'inference_geo'],
};
const MAKERS: ReadonlySet<string> = new Set(['openai', 'azure', 'anthropic']);

/**
 * The tenths of the listed prices that an answer is billed at. A tier may be an account's default, of which the request
 * says nothing, and a provider may answer at a lesser one than was asked for: what its maker reports counts, and of
 * others what is dearer.
 */
export function billedTenths(surcharges: Surcharges | undefined, usage: unknown, provider: Provider): number {
  const asked = surcharges?.byField ?? NO_FACTORS;
  const reported = fields(usage);
  let tenths = surcharges?.priceTenths ?? LISTED;
  for (const field of REPORTED[provider.wire]) {
    const before = asked[field] ?? LISTED;
    const stated = factorOf(field, reported[field]) ?? before;
    const factor = MAKERS.has(provider.name)
      ? discounted(field, reported[field], stated)
      : Math.max(stated, before);
    if (factor !== before) tenths = Math.ceil((tenths * factor) / before);
  }
  return tenths;
}

/** OpenAI's slow tier is half the price; it is held for at the whole of it. */
function discounted(field: string, value: unknown, tenths: number): number {
  return field === 'service_tier' && value === 'flex' ? LISTED / 2 : tenths;
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
