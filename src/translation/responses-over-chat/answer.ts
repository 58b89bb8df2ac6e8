import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { reasoningOf, textIn } from '../chat-message.ts';
import { answerObject, asText, type Json, objectsIn } from '../json.ts';
import {
  callItem,
  type ItemStatus,
  messageItem,
  newCall,
  reasoningItem,
  refusalPart,
  textPart,
} from './items.ts';
import { emptyResponse, endingOf, type ResponseOptions, responseUsage } from './response.ts';

/** Translates a chat completion to a response. Throws GwError 502 if it isn't JSON. */
export function responseOf(body: Buffer, options: ResponseOptions): Json {
  const answer = answerObject(body);
  const [choice = {}] = objectsIn(answer.choices);
  const ending = endingOf(choice.finish_reason);
  return {
    ...emptyResponse(options.newId('resp'), answer.created, answer.model, options),
    ...ending,
    output: outputOf(
      isObject(choice.message) ? choice.message : {},
      ending.status === 'completed' ? 'completed' : 'incomplete',
      options,
    ),
    usage: responseUsage(answer.usage),
  };
}

function outputOf(message: Json, status: ItemStatus, options: ResponseOptions): Json[] {
  const { content, refusal, tool_calls, thinking_blocks } = message;
  const reasoning = reasoningOf(message);
  const signed = objectsIn(thinking_blocks);
  const text = textIn(content);
  const parts = [
    ...(text === '' ? [] : [textPart(text)]),
    ...(typeof refusal === 'string' && refusal !== '' ? [refusalPart(refusal)] : []),
  ];
  return [
    ...(reasoning === '' && signed.length === 0
      ? []
      : [reasoningItem(options.newId('rs'), reasoning, signed)]),
    ...(parts.length === 0 ? [] : [messageItem(options.newId('msg'), parts, status)]),
    ...objectsIn(tool_calls).map((call) => toolCallItem(call, status, options)),
  ];
}

function toolCallItem({ id, function: fn }: Json, status: ItemStatus, options: ResponseOptions): Json {
  const { name, arguments: args } = isObject(fn) ? fn : {};
  const call = newCall(id, name, options);
  // Clients parse the arguments, and an empty string is not JSON.
  return callItem({ ...call, args: typeof args === 'string' && args !== '' ? args : '{}' }, status, options);
}

/** An error in OpenAI's format. Most providers use it already. */
export function errorAnswer(body: Buffer): Buffer {
  const text = body.toString('utf8');
  const answer = parseObject(text);
  if (isObject(answer?.error)) return body;
  const message = asText(answer?.error ?? answer?.message ?? text).slice(0, 2_000);
  return Buffer.from(JSON.stringify({ error: { message, type: 'api_error', param: null, code: null } }));
}
