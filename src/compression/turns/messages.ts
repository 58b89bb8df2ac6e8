import { callOf, objectOf, type Turn, turnOf } from './turn.ts';

const isText = (type: unknown) => type === 'text';

/**
 * Reads a message of Anthropic's API: https://docs.anthropic.com/en/api/messages. Tool results are parts of user
 * messages; each becomes a turn of its own.
 */
export function messagesTurns(item: unknown): Turn[] {
  const { role, content } = objectOf(item);
  const place = ['content'];
  if (role === 'assistant') return [turnOf(content, place, { isText, about: { role, ...callsIn(content) } })];
  if (!Array.isArray(content)) return [turnOf(content, place, { isText, about: { role } })];
  const turns: Turn[] = [];
  let own: Turn | undefined;
  for (const [at, part] of content.entries()) {
    const { type, tool_use_id, content: result, text } = objectOf(part);
    if (type === 'tool_result') {
      const about = { role: 'tool', tool_call_id: tool_use_id };
      turns.push(turnOf(result, [...place, at, 'content'], { isText, about }));
      own = undefined;
    } else if (type === 'text' && typeof text === 'string') {
      if (!own) {
        own = { message: { role, content: [] }, places: [] };
        turns.push(own);
      }
      (own.message.content as unknown[]).push({ type, text });
      own.places.push([...place, at, 'text']);
    }
  }
  return turns;
}

/** The tool calls of an assistant message: an empty list beside reasoning alone. Text beside either stays. */
function callsIn(content: unknown): { tool_calls?: unknown[] } {
  if (!Array.isArray(content)) return {};
  const others = content.map(objectOf).filter(({ type }) => type !== 'text');
  if (others.length === 0) return {};
  const calls = others.filter(({ type }) => type === 'tool_use' || type === 'server_tool_use');
  return { tool_calls: calls.map(({ id, name, input }) => callOf(id, name, input)) };
}
