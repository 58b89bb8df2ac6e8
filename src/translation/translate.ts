import { badRequest, GwError } from '../errors.ts';
import { isObject } from '../json/object.ts';
import type { Dialect } from '../providers/dialects/dialect.ts';
import { dataIn, parseObject } from '../wire/answer/events.ts';
import { chatWire } from '../wire/apis/chat.ts';
import { geminiWire } from '../wire/apis/gemini.ts';
import { messagesWire } from '../wire/apis/messages.ts';
import { responsesWire } from '../wire/apis/responses.ts';
import type { Wire } from '../wire/wire.ts';
import { ChatAnswerReader } from './apis/chat/read-answer.ts';
import { readChatRequest } from './apis/chat/read-request.ts';
import { ChatAnswerWriter } from './apis/chat/write-answer.ts';
import { writeChatRequest } from './apis/chat/write-request.ts';
import { GeminiAnswerReader } from './apis/gemini/read-answer.ts';
import { readGeminiRequest } from './apis/gemini/read-request.ts';
import { GeminiAnswerWriter } from './apis/gemini/write-answer.ts';
import { writeGeminiRequest } from './apis/gemini/write-request.ts';
import { MessagesAnswerReader } from './apis/messages/read-answer.ts';
import { readMessagesRequest } from './apis/messages/read-request.ts';
import { MessagesAnswerWriter } from './apis/messages/write-answer.ts';
import { writeMessagesRequest } from './apis/messages/write-request.ts';
import { ResponsesAnswerReader } from './apis/responses/read-answer.ts';
import { readResponsesRequest } from './apis/responses/read-request.ts';
import { ResponsesAnswerWriter } from './apis/responses/write-answer.ts';
import { writeResponsesRequest } from './apis/responses/write-request.ts';
import { ownerOf, packSeal, unpackSeal } from './carry/envelope.ts';
import type { ItemMemory } from './carry/item-memory.ts';
import { createLateSeals } from './carry/late-seals.ts';
import { TurnKeeper, withKeptReasoning } from './carry/turn-keeper.ts';
import type { Api, BodyOptions, RequestContext } from './context.ts';
import { type AnswerEvent, type AnswerReader, foldAnswer } from './conversation/answer.ts';
import type { AnswerOptions, AnswerWriter } from './conversation/answer-writer.ts';
import { type Conversation, isCall } from './conversation/conversation.ts';
import { readError } from './errors.ts';
import { isEmpty, type Json } from './json.ts';
import { createLeftOut } from './left-out.ts';
import { createFreshIds } from './repair/ids.ts';
import { repaired } from './repair/repaired.ts';

/** What gw can do with one API: four functions, and what a client's fields are called in it. */
interface Side {
  wire: Wire;
  /** Completes the message `"x" has no equivalent in ...`. */
  called: string;
  /** The client's names of a conversation's fields. */
  params: Readonly<Record<string, string>>;
  readRequest(body: Json, context: RequestContext): Conversation;
  writeRequest(conversation: Conversation, context: RequestContext): Json;
  readAnswer(newId: (prefix: string) => string): AnswerReader;
  writeAnswer(options: AnswerOptions): AnswerWriter;
}

const SIDES: Readonly<Record<Api, Side>> = {
  'chat/completions': {
    wire: chatWire,
    called: "chat completions, which this model's provider has",
    params: {
      reasoning: 'reasoning_effort',
      format: 'response_format',
      stops: 'stop',
      serviceTier: 'service_tier',
    },
    readRequest: readChatRequest,
    writeRequest: writeChatRequest,
    readAnswer: (newId) => new ChatAnswerReader(newId),
    writeAnswer: (options) => new ChatAnswerWriter(options),
  },
  messages: {
    wire: messagesWire,
    called: "Anthropic's API",
    params: {
      reasoning: 'output_config.effort',
      format: 'output_config.format',
      stops: 'stop_sequences',
      serviceTier: 'service_tier',
    },
    readRequest: readMessagesRequest,
    writeRequest: writeMessagesRequest,
    readAnswer: () => new MessagesAnswerReader(),
    writeAnswer: (options) => new MessagesAnswerWriter(options),
  },
  responses: {
    wire: responsesWire,
    called: "OpenAI's responses, which this model's provider has",
    params: {
      reasoning: 'reasoning.effort',
      format: 'text.format',
      verbosity: 'text.verbosity',
      serviceTier: 'service_tier',
    },
    readRequest: readResponsesRequest,
    writeRequest: writeResponsesRequest,
    readAnswer: () => new ResponsesAnswerReader(),
    writeAnswer: (options) => new ResponsesAnswerWriter(options),
  },
  gemini: {
    wire: geminiWire,
    called: "Gemini's API",
    params: {
      reasoning: 'generationConfig.thinkingConfig',
      format: 'generationConfig.responseJsonSchema',
      stops: 'generationConfig.stopSequences',
      temperature: 'generationConfig.temperature',
      serviceTier: 'serviceTier',
    },
    readRequest: readGeminiRequest,
    writeRequest: writeGeminiRequest,
    readAnswer: (newId) => new GeminiAnswerReader(newId),
    writeAnswer: (options) => new GeminiAnswerWriter(options),
  },
};

export const isApi = (endpoint: string): endpoint is Api => Object.hasOwn(SIDES, endpoint);

/** The API that reads a provider's requests and answers, recorded under the client's endpoint. */
export const wireOf = (to: Api, from: Api): Wire => ({ ...SIDES[to].wire, endpoint: from });

/** The APIs of a client and a provider. */
export interface Route {
  from: Api;
  to: Api;
}

export interface TranslatedBody {
  /** The body in the provider's API. */
  bytes: Buffer;
  /** The client's request. */
  request: Json;
  /** The client's names of tools, by those of the provider that differ. */
  names: [string, string][];
  /** Ids of the calls so far: some providers give the same ones again, and agents tell calls apart by them. */
  callIds: string[];
  /** Fields of the request that the provider's API doesn't have. */
  leftOut: string[];
}

/** Translates a request's body. Throws GwError 400 for what the provider's API can't express. */
export function translateBody(
  body: Buffer,
  { from, to }: Route,
  options: BodyOptions,
  { recall }: Pick<ItemMemory, 'recall'>,
): TranslatedBody {
  const request = parseObject(body.toString('utf8'));
  if (!request) throw badRequest('the body is not valid JSON', undefined, 'invalid_json');
  const { leaveOut, fields } = createLeftOut();
  const owner = ownerOf(options.provider, options.model);
  const context: RequestContext = {
    ...options,
    ...refusals(SIDES[to].called),
    from,
    leaveOut,
    recall,
    paramOf: (field) => SIDES[from].params[field] ?? field,
    unseal: (text) => unpackSeal(text, owner),
  };
  const read = SIDES[from].readRequest(request, context);
  const turns = takesReasoning(to, options.dialect)
    ? withKeptReasoning(read.turns, owner, context)
    : read.turns;
  const { conversation, names } = repaired({ ...read, turns }, context);
  const translated = { ...SIDES[to].writeRequest(conversation, context), ...options.dialect.adds };
  for (const field of options.dialect.refuses ?? []) {
    leave(translated, field);
    if (!isEmpty(request[field])) leaveOut(field);
  }
  const callIds = turns.flatMap(({ parts }) => parts.filter(isCall).map(({ id }) => id));
  return { bytes: Buffer.from(JSON.stringify(translated)), request, names, callIds, leftOut: fields() };
}

/** Whether anything that came with calls goes back. Each call of the conversation is looked up for it. */
const takesReasoning = (to: Api, { reasoning, details, extras, opaque }: Dialect): boolean =>
  to !== 'chat/completions' ||
  reasoning === 'required' ||
  reasoning === 'kept' ||
  Boolean(details || extras || opaque);

/** Removes a field, also one of a field: `reasoning.summary`. */
function leave(body: Json, path: string): void {
  const [name = '', ...rest] = path.split('.');
  const value = body[name];
  if (rest.length === 0) delete body[name];
  else if (isObject(value)) {
    leave(value, rest.join('.'));
    if (Object.keys(value).length === 0) delete body[name];
  }
}

/** Errors for fields that the provider's API can't express. gw rejects them instead of dropping them silently. */
function refusals(target: string): Pick<RequestContext, 'cannotExpress' | 'refuseRest'> {
  const cannotExpress = (param: string, hint = '') =>
    badRequest(
      `"${param}" has no equivalent in ${target}${hint === '' ? '' : `: ${hint}`}. Change or remove it, or use another model`,
      param,
      'unsupported_parameter',
    );
  return {
    cannotExpress,
    refuseRest(rest, at) {
      const key = Object.keys(rest).find((each) => !isEmpty(rest[each]));
      if (key !== undefined) throw cannotExpress(`${at}.${key}`);
    },
  };
}

/** Translates one provider response into the client's API. Stateful, so each response needs its own translator. */
export interface Translator {
  /** Translates a complete response or error. Throws GwError 502 if the response isn't JSON. */
  answer(body: Buffer, status: number): Buffer;
  /** Translates complete stream events; the result may be empty. */
  events(events: Buffer): Buffer;
  /** Events that show that the connection lives; the first begins the answer if the provider hasn't. */
  sign(): Buffer;
  /** The remaining events when the provider ends a stream normally. */
  end(): Buffer;
}

interface AnswerContext
  extends Omit<AnswerOptions, 'pack' | 'remember'>,
    Pick<TranslatedBody, 'names' | 'callIds'> {
  provider: string;
  dialect: Dialect;
  memory: ItemMemory;
}

export function translateAnswers(
  { from, to }: Route,
  { provider, dialect, memory, names, callIds, ...options }: AnswerContext,
): Translator {
  const owner = ownerOf(provider, options.model);
  const reader = SIDES[to].readAnswer(options.newId);
  const writer = SIDES[from].writeAnswer({
    ...options,
    pack: (seal) => packSeal(owner, seal),
    remember: memory.remember,
  });
  const clientNames = new Map(names);
  const keeper = takesReasoning(to, dialect) ? new TurnKeeper(owner, memory.remember) : undefined;
  const withFreshIds = createFreshIds(callIds, options.newId);
  const inPlace = createLateSeals();
  let hasBegun = false;
  /** An answer begins once, and its calls have the client's names. */
  const forClient = (came: AnswerEvent[]): AnswerEvent[] => {
    const named = withFreshIds(came);
    if (keeper) for (const event of named) keeper.note(event);
    const events = inPlace(named);
    const isAgain = hasBegun && events.some(({ type }) => type === 'start');
    hasBegun ||= events.length > 0;
    const once = isAgain ? events.filter(({ type }) => type !== 'start') : events;
    if (clientNames.size === 0) return once;
    return once.map((event) =>
      event.type === 'call' ? { ...event, name: clientNames.get(event.name) ?? event.name } : event,
    );
  };
  const bytesOf = (events: AnswerEvent[]) =>
    events.length === 0 ? EMPTY : Buffer.from(writer.stream(forClient(events)));
  return {
    answer(body, status) {
      const text = body.toString('utf8');
      const answer =
        status >= 400
          ? writer.error(readError(text), status)
          : writer.whole(foldAnswer(forClient(reader.whole(answerObject(text)))));
      return Buffer.from(JSON.stringify(answer));
    },
    events(events) {
      const [only, ...others] = dataIn(events);
      if (only === undefined) return EMPTY;
      const first = reader.event(only);
      return bytesOf(others.length === 0 ? first : first.concat(...others.map((data) => reader.event(data))));
    },
    sign: () =>
      Buffer.concat([bytesOf([{ type: 'start', id: options.newId('gw') }]), Buffer.from(writer.sign())]),
    end: () => bytesOf(reader.end()),
  };
}

const EMPTY = Buffer.alloc(0);

/** The JSON object in a provider's response. Throws GwError 502 if it is anything else. */
function answerObject(text: string): Json {
  const answer = parseObject(text);
  if (answer) return answer;
  throw new GwError("the provider's answer is not a JSON object, so gw can't translate it", {
    status: 502,
    type: 'api_error',
    code: 'upstream_failed',
  });
}
