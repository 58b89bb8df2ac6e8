import { badRequest } from '../../errors.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { asText, isEmpty, type Json, listAt, objectAt, textAt } from '../json.ts';
import { type LeaveOut, without } from '../left-out.ts';
import { inputBlocks, textBlocks } from './content.ts';
import { cannotExpress, refuseRest } from './refuse.ts';

/**
 * Translates chat messages to Anthropic's turns. All system messages move to the front, as in Anthropic's own
 * OpenAI-compatible endpoint. Consecutive messages of one side become one turn, which Anthropic requires for the
 * results of parallel tool calls.
 */
export function conversation(messages: unknown, leaveOut: LeaveOut): { system?: Json[]; messages: Json[] } {
  const system: Json[] = [];
  const turns: { role: string; content: Json[] }[] = [];
  const addTurn = (role: string, content: Json[]) => {
    const last = turns.at(-1);
    if (last?.role === role) last.content.push(...content);
    else if (content.length > 0) turns.push({ role, content });
  };
  for (const [i, each] of listAt(messages, 'messages').entries()) {
    const at = `messages[${i}]`;
    const { role, content, ...rest } = without(objectAt(each, at), OF_A_MESSAGE, at, leaveOut);
    switch (role) {
      case 'system':
      case 'developer':
        refuseRest(rest, at);
        system.push(...textBlocks(content, `${at}.content`));
        break;
      case 'user':
        refuseRest(rest, at);
        addTurn('user', inputBlocks(content, `${at}.content`));
        break;
      case 'assistant':
        addTurn('assistant', assistantBlocks(content, rest, { at, leaveOut }));
        break;
      case 'tool':
        addTurn('user', [toolResult(content, rest, at)]);
        break;
      default:
        throw cannotExpress(`${at}.role`, `there is no role ${asText(role)}`);
    }
  }
  return { ...(system.length > 0 ? { system } : {}), messages: turns };
}

/** Fields that libraries add for their own use: the agent that wrote a message, and what its provider sent besides. */
const OF_A_MESSAGE = ['name', 'provider_specific_fields'];
const OF_A_CALL = ['provider_specific_fields'];

interface Place {
  at: string;
  leaveOut: LeaveOut;
}

function assistantBlocks(content: unknown, message: Json, { at, leaveOut }: Place): Json[] {
  // Anthropic can't use reasoning without its signature, and drops that of earlier turns anyway.
  const {
    tool_calls,
    refusal,
    thinking_blocks,
    reasoning_content: _content,
    reasoning: _reasoning,
    reasoning_details: _details,
    annotations: _annotations,
    ...rest
  } = message;
  refuseRest(rest, at);
  const thinking = isEmpty(thinking_blocks) ? [] : listAt(thinking_blocks, `${at}.thinking_blocks`);
  const text = isEmpty(content) ? [] : assistantText(content, `${at}.content`);
  const refusalText = isEmpty(refusal) ? [] : textBlocks(refusal, `${at}.refusal`);
  const calls = isEmpty(tool_calls) ? [] : listAt(tool_calls, `${at}.tool_calls`);
  return [
    ...thinking.map((block, i) => objectAt(block, `${at}.thinking_blocks[${i}]`)),
    ...text,
    ...refusalText,
    ...calls.map((call, i) => toolUse(call, { at: `${at}.tool_calls[${i}]`, leaveOut })),
  ];
}

/** Texts and refusals. Empty texts are dropped, as Anthropic refuses them. */
function assistantText(content: unknown, at: string): Json[] {
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

function toolUse(value: unknown, { at, leaveOut }: Place): Json {
  const { id, type, function: call, ...rest } = without(objectAt(value, at), OF_A_CALL, at, leaveOut);
  if (type !== 'function') throw cannotExpress(`${at}.type`, `there are no ${asText(type)} tools`);
  const { index: _index, ...more } = rest;
  refuseRest(more, at);
  const {
    name,
    arguments: args,
    ...others
  } = without(objectAt(call, `${at}.function`), OF_A_CALL, `${at}.function`, leaveOut);
  refuseRest(others, `${at}.function`);
  const input = isEmpty(args) ? {} : parseObject(textAt(args, `${at}.function.arguments`));
  if (input) return { type: 'tool_use', id: textAt(id, `${at}.id`), name, input };
  throw badRequest(
    `"${at}.function.arguments" must be a string with a JSON object`,
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
