import { objectOf, type Turn, turnOf } from './turn.ts';

/** Reads a chat completions message: https://platform.openai.com/docs/api-reference/chat/create */
export function chatTurns(item: unknown): Turn[] {
  const { role, content, tool_calls, tool_call_id } = objectOf(item);
  const about = { role, ...(tool_calls === undefined ? {} : { tool_calls }), tool_call_id };
  return [turnOf(content, ['content'], { isText: (type) => type === 'text', about })];
}
