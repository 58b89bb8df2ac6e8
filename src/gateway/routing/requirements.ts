import { isObject } from '../../json/object.ts';
import { readValue } from '../../json/scan.ts';
import { capabilitiesOf } from '../../pricing/capabilities.ts';
import { modelLimits } from '../../pricing/limits.ts';
import { lackOf, type Needs } from '../../routing/needs.ts';
import type { RequestContext } from '../context/request-context.ts';
import type { Target } from '../state/resolver.ts';

/**
 * Whether a request continues a conversation that its provider stores, or starts one that may be continued by its id,
 * and another provider is among the targets. No other has it, so such a request stays with the requested model.
 */
export function isStored(
  { wire, request: { bytes, members } }: RequestContext,
  targets: readonly Target[],
  owner: Target | undefined,
): boolean {
  if (wire.endpoint !== 'responses') return false;
  const jsonOf = (name: string) => {
    const member = members.find(({ key }) => key === name);
    return member ? bytes.toString('latin1', member.start, member.end) : 'null';
  };
  if (jsonOf('previous_response_id') !== 'null' || jsonOf('conversation') !== 'null') return true;
  return targets.some(({ provider }) => provider !== owner?.provider) && jsonOf('store') !== 'false';
}

/** Members in which the three APIs specify the output format. */
const FORMATS = ['response_format', 'text', 'output_format', 'output_config'];
/** A low ratio on purpose: a request close to a model's context window is better off at a larger model. */
const LOW_BYTES_PER_TOKEN = 3;

/** The capabilities that a request needs. */
export function requirementsOf({ request }: RequestContext): Needs {
  const { bytes, members, nonText, maxOutputTokens = 0 } = request;
  return {
    contextTokens: Math.ceil(bytes.length / LOW_BYTES_PER_TOKEN) + maxOutputTokens,
    tools: members.some(({ key }) => key === 'tools' || key === 'functions'),
    vision: nonText.images > 0,
    jsonSchema: members.some((member) => FORMATS.includes(member.key) && isSchema(readValue(bytes, member))),
  };
}

/** The needs that a target is known not to meet. */
export function lackOfTarget({ provider, model }: Target, needs: Needs): (keyof Needs)[] {
  const contextTokens = modelLimits(provider.name, model)?.contextTokens;
  const capabilities = capabilitiesOf(model);
  return lackOf(contextTokens === undefined ? capabilities : { ...capabilities, contextTokens }, needs);
}

/** Whether a value is `{"type": "json_schema"}`, or has that under `format`. */
function isSchema(value: unknown): boolean {
  return isObject(value) && (value.type === 'json_schema' || isSchema(value.format));
}
