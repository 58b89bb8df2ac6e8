import { isObject } from '../../json/object.ts';
import { namedEvents, parseObject } from '../../wire/answer/events.ts';
import { argumentsIn, reasoningOf, textIn, translateChunks } from '../chat-message.ts';
import { answerObject, asText, EMPTY, type Json, objectsIn } from '../json.ts';
import type { TranslationOptions, Translator } from '../translator.ts';
import {
  callItem,
  type ItemStatus,
  messageItem,
  newCall,
  reasoningItem,
  refusalPart,
  sealItem,
  textPart,
} from './items.ts';
import { emptyResponse, endingOf, type ResponseOptions, responseUsage } from './response.ts';
import { type ResponseEvent, ResponseStream } from './stream.ts';
import { toolsByName } from './tool-names.ts';

/** Translates chat completions to responses. */
export function translateForResponses(options: TranslationOptions): Translator {
  const { request, memory } = options;
  const responseOptions = { ...options, tools: toolsByName(request) };
  const stream = new ResponseStream(responseOptions);

  /** Not needed with `store: false`: such a client sends the items itself. */
  function remember(items: readonly Json[]): void {
    if (request.store !== false) for (const item of items) memory.remember(item);
  }

  function bytesOf(events: ResponseEvent[]): Buffer {
    for (const { type, item } of events) {
      if (type === 'response.output_item.done') remember(objectsIn([item]));
    }
    return events.length === 0 ? EMPTY : namedEvents(events);
  }

  return {
    answer(body, status) {
      if (status >= 400) return errorAnswer(body);
      const response = responseOf(body, responseOptions);
      remember(objectsIn(response.output));
      return Buffer.from(JSON.stringify(response));
    },
    events: (events) => bytesOf(translateChunks(events, stream)),
    end: () => bytesOf(stream.end()),
  };
}

/** Translates a chat completion to a response. Throws GwError 502 if it isn't JSON. */
function responseOf(body: Buffer, options: ResponseOptions): Json {
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
    ...objectsIn(tool_calls).flatMap((call) => {
      const item = toolCallItem(call, status, options);
      const seal = sealItem(options.newId('rs'), [{ ...call, id: item.call_id }]);
      return seal ? [seal, item] : [item];
    }),
  ];
}

function toolCallItem({ id, function: fn }: Json, status: ItemStatus, options: ResponseOptions): Json {
  const { name } = isObject(fn) ? fn : {};
  const call = newCall(id, name, options);
  // Clients parse the arguments, and an empty string is not JSON.
  return callItem({ ...call, args: argumentsIn(fn) || '{}' }, status, options);
}

/** An error body in OpenAI's format, which most providers use already. */
function errorAnswer(body: Buffer): Buffer {
  const text = body.toString('utf8');
  const answer = parseObject(text);
  if (isObject(answer?.error)) return body;
  const message = asText(answer?.error ?? answer?.message ?? text).slice(0, 2_000);
  return Buffer.from(JSON.stringify({ error: { message, type: 'api_error', param: null, code: null } }));
}
