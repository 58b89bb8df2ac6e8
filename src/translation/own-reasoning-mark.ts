import { isObject } from '../json/object.ts';
import { type Json, objectsIn } from './json.ts';

/**
 * Prefix of the signature or encrypted content of reasoning that gw translated. No provider can read it, so gw removes
 * such reasoning from requests that it sends without translation.
 */
export const OWN_REASONING_MARK = 'gw1.';

/** Whether a signature or encrypted content is of gw. */
export const isOwnReasoning = (seal: unknown): seal is string =>
  typeof seal === 'string' && seal.startsWith(OWN_REASONING_MARK);

/** The fields of a message with tool calls that hold its reasoning, for a provider that takes it back. */
export function reasoningBack(
  texts: readonly string[],
  rule: 'required' | 'kept' | undefined,
): { reasoning_content?: string } {
  const text = texts.join('\n\n');
  return rule === 'required' || (rule === 'kept' && text !== '') ? { reasoning_content: text } : {};
}

/** Packs objects into a text that clients send back untouched. */
export function packReasoning(blocks: readonly Json[]): string {
  return OWN_REASONING_MARK + Buffer.from(JSON.stringify(blocks)).toString('base64');
}

/** Unpacks the objects of `packReasoning`; empty if the text has another origin. */
export function unpackReasoning(seal: unknown): Json[] {
  if (!isOwnReasoning(seal)) return [];
  try {
    const text = Buffer.from(seal.slice(OWN_REASONING_MARK.length), 'base64').toString('utf8');
    return objectsIn(JSON.parse(text));
  } catch {
    return [];
  }
}

/** Fields of a tool call that only its provider can read, by the call's id: Google's signature of its thoughts. */
export function sealCalls(calls: readonly Json[]): string | undefined {
  const extras = calls.filter(({ extra_content }) => isObject(extra_content));
  if (extras.length === 0) return undefined;
  return packReasoning(extras.map(({ id, extra_content }) => ({ id, extra_content })));
}

/** The fields that `sealCalls` has sealed, by the id of their call. */
export function unsealCalls(seal: unknown): Map<unknown, unknown> {
  const extras = unpackReasoning(seal).filter(({ extra_content }) => isObject(extra_content));
  return new Map(extras.map(({ id, extra_content }) => [id, extra_content]));
}

/** Gemini's models that refuse a call without a signature, and Google's stand-in for calls of other models. */
const ASKS_FOR_SIGNATURES = /(?:^|\/)gemini-[3-9]/;
const STAND_IN = { google: { thought_signature: 'skip_thought_signature_validator' } };

/**
 * The tool calls of a message with the fields that they came with, for a provider that takes them back:
 * https://ai.google.dev/gemini-api/docs/thought-signatures
 */
export function withExtras(
  calls: readonly Json[],
  extras: ReadonlyMap<unknown, unknown>,
  { model, keepsExtras }: { model: string; keepsExtras?: boolean | undefined },
): Json[] {
  if (!keepsExtras) return [...calls];
  const hasExtra = calls.some(({ id }) => extras.has(id));
  return calls.map((call, i) => {
    const needsStandIn = i === 0 && !hasExtra && ASKS_FOR_SIGNATURES.test(model);
    const extra_content = needsStandIn ? STAND_IN : extras.get(call.id);
    return extra_content === undefined ? call : { ...call, extra_content };
  });
}
