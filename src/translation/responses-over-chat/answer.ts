import { isObject } from '../../json/object.ts';
import { parseObject } from '../../wire/answer/events.ts';
import { reasoningOf, textIn } from '../chat-message.ts';
import { answerObject, type Json, objectsIn } from '../json.ts';
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

/** A chat completion as a response. Throws GwError 502 for what is none. */
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
  const thought = reasoningOf(message);
  const signed = objectsIn(thinking_blocks);
  const said = textIn(content);
  const parts = [
    ...(said === '' ? [] : [textPart(said)]),
    ...(typeof refusal === 'string' && refusal !== '' ? [refusalPart(refusal)] : []),
  ];
  return [
    ...(thought === '' && signed.length === 0 ? [] : [reasoningItem(options.newId('rs'), thought, signed)]),
    ...(parts.length === 0 ? [] : [messageItem(options.newId('msg'), parts, status)]),
    ...objectsIn(tool_calls).map((call) => calledItem(call, status, options)),
  ];
}

function calledItem({ id, function: called }: Json, status: ItemStatus, options: ResponseOptions): Json {
  const { name, arguments: args } = isObject(called) ? called : {};
  const call = newCall(id, name, options);
  // Clients parse the arguments as JSON, and an empty text is none.
  return callItem({ ...call, args: typeof args === 'string' && args !== '' ? args : '{}' }, status, options);
}

/** A provider's error in OpenAI's shape, which it has if the provider keeps to the wire. */
export function errorAnswer(body: Buffer): Buffer {
  const text = body.toString('utf8');
  const answer = parseObject(text);
  if (isObject(answer?.error)) return body;
  const message = String(answer?.error ?? answer?.message ?? text).slice(0, 2_000);
  return Buffer.from(JSON.stringify({ error: { message, type: 'api_error', param: null, code: null } }));
}
