import { isObject, objectsIn } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import type { Seal } from '../conversation/conversation.ts';
import type { Json } from '../json.ts';

/**
 * Prefix of the signature or encrypted content of reasoning that gw translated. No provider can read it, so gw removes
 * such reasoning from requests that it sends without translation.
 */
export const OWN_REASONING_MARK = 'gw1.';

/** Whether a signature or encrypted content is of gw. */
export const isOwnReasoning = (seal: unknown): seal is string =>
  typeof seal === 'string' && seal.startsWith(OWN_REASONING_MARK);

/** Whether a thinking block is of gw. */
export const isOwnBlock = ({ signature, data }: Json): boolean =>
  isOwnReasoning(signature) || isOwnReasoning(data);

const KINDS: ReadonlySet<unknown> = new Set<Seal['kind']>([
  'thinking',
  'encrypted',
  'details',
  'calls',
  'opaque',
  'text',
]);

export const isSealKind = (kind: unknown): kind is Seal['kind'] => KINDS.has(kind);

/** Whose seals a model can read: its provider's, and at a relay those of its maker. */
export function ownerOf(provider: string, model: string): string {
  const slash = model.indexOf('/');
  return slash < 0 ? provider : `${provider} ${model.slice(0, slash)}`;
}

/** Puts a seal into a text that clients send back untouched. */
export function packSeal(owner: string, { kind, values }: Seal): string {
  const envelope = JSON.stringify({ owner, kind, values });
  return OWN_REASONING_MARK + Buffer.from(envelope).toString('base64');
}

/** The seal in a text of `packSeal`; undefined if the text has another origin, or `owner` can't read it. */
export function unpackSeal(text: unknown, owner: string): Seal | undefined {
  if (!isOwnReasoning(text)) return undefined;
  const json = Buffer.from(text.slice(OWN_REASONING_MARK.length), 'base64').toString('utf8');
  const envelope = parseObject(json) ?? earlierEnvelope(json);
  if (!envelope || (envelope.owner !== undefined && envelope.owner !== owner)) return undefined;
  const { kind, values } = envelope;
  return isSealKind(kind) ? { kind, values: objectsIn(values) } : undefined;
}

/** gw 0.2.0 packed the values alone, and marked plain reasoning with the prefix alone. */
function earlierEnvelope(json: string): Json | undefined {
  if (json === '') return { kind: 'text', values: [] };
  const values = objectsIn(parseObject(`{"values":${json}}`)?.values);
  const [first] = values;
  if (!first) return undefined;
  if (isObject(first.extra_content)) return { kind: 'calls', values };
  return {
    kind: first.type === 'thinking' || first.type === 'redacted_thinking' ? 'thinking' : 'text',
    values,
  };
}
