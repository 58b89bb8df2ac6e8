/**
 * Prefix of the signature or encrypted content of reasoning that gw translated. No provider can read it, so gw removes
 * such reasoning from requests that it sends without translation.
 */
export const OWN_REASONING_MARK = 'gw1.';

/** Whether a signature or encrypted content is of gw. */
export const isOwnReasoning = (seal: unknown): boolean =>
  typeof seal === 'string' && seal.startsWith(OWN_REASONING_MARK);

/** The fields of a message with tool calls that hold its reasoning, for a provider that takes it back. */
export function reasoningBack(
  texts: readonly string[],
  rule: 'required' | 'kept' | undefined,
): { reasoning_content?: string } {
  const text = texts.join('\n\n');
  return rule === 'required' || (rule === 'kept' && text !== '') ? { reasoning_content: text } : {};
}
