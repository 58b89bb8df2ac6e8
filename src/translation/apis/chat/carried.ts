import { isObject } from '../../../json/object.ts';
import type { RequestContext } from '../../context.ts';
import type { ReasoningPart, Seal } from '../../conversation/conversation.ts';
import { asText, type Json } from '../../json.ts';

const valuesOf = (reasoning: readonly ReasoningPart[], kind: Seal['kind']): Json[] =>
  reasoning.flatMap(({ seals }) =>
    seals.filter((seal) => seal.kind === kind).flatMap(({ values }) => values),
  );

/** Reasoning that has to come back, in the fields of a message that it came in. */
export function carriedBack(
  reasoning: readonly ReasoningPart[],
  hasCalls: boolean,
  { reasoning: rule, details, opaque }: RequestContext['dialect'],
): Json {
  if (reasoning.length === 0) return rule === 'required' && hasCalls ? { reasoning_content: '' } : {};
  const texts = hasCalls ? reasoning.flatMap(plainText) : [];
  const text = texts.join('\n\n');
  const blocks = details ? valuesOf(reasoning, 'details') : [];
  const [sealed] = opaque ? valuesOf(reasoning, 'opaque') : [];
  return {
    ...((rule === 'required' && hasCalls) || (rule === 'kept' && text !== '')
      ? { reasoning_content: text }
      : {}),
    ...(blocks.length > 0 ? { reasoning_details: blocks } : {}),
    ...(sealed ? { ...sealed, reasoning_text: reasoning.map((part) => part.text).join('') } : {}),
  };
}

/** Reasoning that came without a signature: some clients bring it back as text, others only what gw packed. */
function plainText({ text, seals }: ReasoningPart): string[] {
  const own = seals.find(({ kind }) => kind === 'text');
  if (!own) return [];
  const packed = own.values.map((value) => asText(value.text));
  return packed.length > 0 ? packed : [text];
}

/**
 * The tool calls of a message with the fields that they came with, for a provider that takes them back; the provider's
 * stand-in for them at calls of other models.
 */
export function withCarried(
  calls: readonly Json[],
  reasoning: readonly ReasoningPart[],
  { dialect, model }: RequestContext,
): Json[] {
  const { standIn } = dialect;
  if (!dialect.extras || (reasoning.length === 0 && !standIn)) return [...calls];
  const extras = new Map(
    valuesOf(reasoning, 'calls')
      .filter(({ extra_content }) => isObject(extra_content))
      .map(({ id, extra_content }) => [id, extra_content]),
  );
  const isMissing = standIn?.models.test(model) && !calls.some(({ id }) => extras.has(id));
  return calls.map((call, i) => {
    const extra_content = isMissing && i === 0 ? standIn?.extra : extras.get(call.id);
    return extra_content === undefined ? call : { ...call, extra_content };
  });
}
