import { badRequest } from '../../errors.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { inputBlocks, textBlocks } from './content.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/**
 * Chat messages as Anthropic's turns. System messages, wherever they stand, go in front, as Anthropic's own
 * OpenAI-compatible endpoint does with them; turns of one side that follow each other become one, as the results of
 * parallel tool calls have to.
 */
export function conversation(messages: unknown): { system?: Json[]; messages: Json[] } {
  const system: Json[] = [];
  const turns: { role: string; content: Json[] }[] = [];
  const say = (role: string, content: Json[]) => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) turns.push({ role, content });
  };
  for (const [i, each] of listAt(messages, 'messages').entries()) {
    const at = `messages[${i}]`;
    const { role, content, ...rest } = objectAt(each, at);
    switch (role) {
      case 'system':
      case 'developer':
        refuseRest(rest, at);
        system.push(...textBlocks(content, `${at}.content`));
        break;
      case 'user':
        refuseRest(rest, at);
        say('user', inputBlocks(content, `${at}.content`));
        break;
      case 'assistant':
        say('assistant', assistantBlocks(content, rest, at));
        break;
      case 'tool':
        say('user', [toolResult(content, rest, at)]);
        break;
      default:
        throw cannotExpress(`${at}.role`, `there is no role ${String(role)}`);
    }
  }
  return { ...(system.length > 0 ? { system } : {}), messages: turns };
}

function assistantBlocks(content: unknown, message: Json, at: string): Json[] {
  // Reasoning without its signature is no use to Anthropic, which leaves out that of earlier turns in any case.
  const {
    tool_calls,
    refusal,
    thinking_blocks,
    reasoning_content: _reasoning,
    annotations: _annotations,
    ...rest
  } = message;
  refuseRest(rest, at);
  const thinking = isEmpty(thinking_blocks) ? [] : listAt(thinking_blocks, `${at}.thinking_blocks`);
  const said = isEmpty(content) ? [] : saidBlocks(content, `${at}.content`);
  const refused = isEmpty(refusal) ? [] : textBlocks(refusal, `${at}.refusal`);
  const calls = isEmpty(tool_calls) ? [] : listAt(tool_calls, `${at}.tool_calls`);
  return [
    ...thinking.map((block, i) => objectAt(block, `${at}.thinking_blocks[${i}]`)),
    ...said,
    ...refused,
    ...calls.map((call, i) => toolUse(objectAt(call, `${at}.tool_calls[${i}]`), `${at}.tool_calls[${i}]`)),
  ];
}

/** Empty texts are left out, as Anthropic refuses them. */
function saidBlocks(content: unknown, at: string): Json[] {
  if (!Array.isArray(content)) return textBlocks(textAt(content, at), at);
  const texts = content.map((part: unknown, i) => {
    const { type, refusal, ...rest } = objectAt(part, `${at}[${i}]`);
    return type === 'refusal' ? { type: 'text', text: refusal } : { type, ...rest };
  });
  return textBlocks(
    texts.filter((part) => !('text' in part && part.text === '')),
    at,
  );
}

function toolUse({ id, type, function: called, ...rest }: Json, at: string): Json {
  if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${String(type)} tools`);
  const { index: _index, ...more } = rest;
  refuseRest(more, at);
  const { name, arguments: args, ...others } = objectAt(called, `${at}.function`);
  refuseRest(others, `${at}.function`);
  const input = isEmpty(args) ? {} : parseObject(textAt(args, `${at}.function.arguments`));
  if (input) return { type: 'tool_use', id: textAt(id, `${at}.id`), name, input };
  throw badRequest(
    `"${at}.function.arguments" must be the JSON of an object`,
    `${at}.function.arguments`,
    'invalid_value',
  );
}

function toolResult(content: unknown, { tool_call_id, ...rest }: Json, at: string): Json {
  refuseRest(rest, at);
  const tool_use_id = textAt(tool_call_id, `${at}.tool_call_id`);
  const result = typeof content === 'string' ? content : inputBlocks(content, `${at}.content`);
  return { type: 'tool_result', tool_use_id, content: result };
}
