import { isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { blockAt, contentPart, plainText } from './content.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/** Translates the system prompt and Anthropic's turns to chat messages. */
export function chatMessages(system: unknown, turns: unknown): Json[] {
  const prompt = isEmpty(system) ? '' : plainText(system, 'system');
  return [
    ...(prompt === '' ? [] : [{ role: 'system', content: prompt }]),
    ...listAt(turns, 'messages').flatMap((turn, i) =>
      messagesOf(objectAt(turn, `messages[${i}]`), `messages[${i}]`),
    ),
  ];
}

function messagesOf({ role, content, ...rest }: Json, at: string): Json[] {
  refuseRest(rest, at);
  switch (role) {
    case 'user':
      return typeof content === 'string' ? [{ role, content }] : userMessages(content, `${at}.content`);
    case 'assistant':
      return [typeof content === 'string' ? { role, content } : assistantMessage(content, `${at}.content`)];
    // Claude Code inserts reminders between turns.
    case 'system':
      return [{ role, content: plainText(content, `${at}.content`) }];
    default:
      throw cannotExpress(`${at}.role`, `there is no role ${String(role)}`);
  }
}

/** Tool results become messages that directly follow the calls; the user's other content comes after them. */
function userMessages(content: unknown, at: string): Json[] {
  const results: Json[] = [];
  const parts: Json[] = [];
  for (const [i, each] of listAt(content, at).entries()) {
    const block = blockAt(each, `${at}[${i}]`);
    if (block.type === 'tool_result') {
      const { message, images } = toolMessage(block, `${at}[${i}]`);
      results.push(message);
      parts.push(...images);
    } else parts.push(contentPart(block, `${at}[${i}]`));
  }
  return [...results, ...(parts.length > 0 ? [{ role: 'user', content: parts }] : [])];
}

/** Tool messages can't contain images, so these are returned for a user message. */
function toolMessage(
  { type: _type, tool_use_id, content, is_error, ...rest }: Json,
  at: string,
): { message: Json; images: Json[] } {
  refuseRest(rest, at);
  const parts = partsOf(content, `${at}.content`);
  const texts = parts.filter(({ type }) => type === 'text').map(({ text }) => String(text));
  const images = parts.filter(({ type }) => type !== 'text');
  const text = texts.length === 0 && images.length > 0 ? 'The result follows.' : texts.join('\n\n');
  const message = {
    role: 'tool',
    tool_call_id: textAt(tool_use_id, `${at}.tool_use_id`),
    content: is_error === true ? `Error: ${text}` : text,
  };
  return { message, images };
}

function partsOf(content: unknown, at: string): Json[] {
  if (isEmpty(content)) return [];
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return listAt(content, at).map((each, i) => contentPart(blockAt(each, `${at}[${i}]`), `${at}[${i}]`));
}

function assistantMessage(content: unknown, at: string): Json {
  const texts: string[] = [];
  const calls: Json[] = [];
  for (const [i, each] of listAt(content, at).entries()) {
    const { type, ...block } = blockAt(each, `${at}[${i}]`);
    switch (type) {
      case 'text':
        refuseRest({ ...block, text: undefined }, `${at}[${i}]`);
        texts.push(textAt(block.text, `${at}[${i}].text`));
        break;
      case 'tool_use':
        calls.push(toolCall(block, `${at}[${i}]`));
        break;
      // Dropped: only Anthropic can read reasoning of earlier turns.
      case 'thinking':
      case 'redacted_thinking':
        break;
      default:
        throw cannotExpress(`${at}[${i}].type`, `there is no content of type ${String(type)}`);
    }
  }
  const text = texts.length > 0 ? texts.join('\n\n') : null;
  return { role: 'assistant', content: text, ...(calls.length > 0 ? { tool_calls: calls } : {}) };
}

function toolCall({ id, name, input, ...rest }: Json, at: string): Json {
  const { caller: _caller, ...more } = rest;
  refuseRest(more, at);
  return { id, type: 'function', function: { name, arguments: JSON.stringify(input ?? {}) } };
}
