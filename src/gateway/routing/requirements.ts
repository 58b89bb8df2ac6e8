import { isObject } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import { capabilitiesOf } from '../../pricing/capabilities.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { lackOf, type Needs } from '../../routing/needs.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolve.ts';

/** Where the three APIs say what form an answer is to have. */
const FORMATS = ['response_format', 'text', 'output_format', 'output_config'];
/** Few texts have fewer; what is too close to a model's limit is better off with the larger one. */
const BYTES_PER_TOKEN = 3;

/** What a request asks of a model, whatever its tier. */
export function requirementsOf({ request }: RequestContext): Needs {
  const { bytes, members, nonText, maxOutputTokens = 0 } = request;
  return {
    contextTokens: Math.ceil(bytes.length / BYTES_PER_TOKEN) + maxOutputTokens,
    tools: members.some(({ key }) => key === 'tools' || key === 'functions'),
    vision: nonText.images > 0,
    jsonSchema: members.some((member) => FORMATS.includes(member.key) && isSchema(readValue(bytes, member))),
  };
}

/** What a target is known to lack for it. */
export function lackOfTarget({ provider, model }: Target, needs: Needs): (keyof Needs)[] {
  const contextTokens = modelLimits(provider.name, model)?.contextTokens;
  const known = capabilitiesOf(model);
  return lackOf(contextTokens === undefined ? known : { ...known, contextTokens }, needs);
}

/** `{"type": "json_schema"}`, or such a thing under `format`. */
function isSchema(value: unknown): boolean {
  return isObject(value) && (value.type === 'json_schema' || isSchema(value.format));
}
