import { isObject, objectsIn } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { RequestContext } from '../../context.ts';
import {
  type ContentPart,
  type Conversation,
  isCall,
  isReasoning,
  isResult,
  type MediaPart,
  type Part,
  type ResultPart,
  type ToolChoice,
  type Turn,
  textsOf,
} from '../../conversation/conversation.ts';
import { append, asText, definedFields, type Json, lookUp } from '../../json.ts';
import { CHAT_DEFAULTS, type ExtraRules, writtenExtra } from '../extra.ts';
import { thinkingConfig } from './thinking.ts';

/** Writes a request for Gemini. Throws GwError 400 for what it can't express. */
export function writeGeminiRequest(conversation: Conversation, context: RequestContext): Json {
  const { tools } = conversation;
  const system = conversation.turns.flatMap(({ role, parts }) => (role === 'system' ? textsOf(parts) : []));
  const contents = contentsOf(conversation.turns, context);
  const config = configOf(conversation, context);
  const hasOnlySystem = contents.length === 0;
  const systemParts = system.map((text) => ({ text }));
  return {
    model: conversation.model,
    stream: conversation.isStream,
    ...(system.length > 0 && !hasOnlySystem && { systemInstruction: { parts: systemParts } }),
    // Google refuses a request without contents.
    contents: hasOnlySystem ? [{ role: 'user', parts: systemParts }] : contents,
    ...(tools.length > 0 && {
      tools: [
        {
          functionDeclarations: tools.map(({ name, description, parameters }) =>
            definedFields({ name, description, parametersJsonSchema: parameters }),
          ),
        },
      ],
    }),
    ...(tools.length > 0 && conversation.choice && { toolConfig: toolConfig(conversation.choice) }),
    ...(Object.keys(config).length > 0 && { generationConfig: config }),
  };
}

/** Google takes no more: https://ai.google.dev/api/generate-content#generationconfig */
const MAX_STOPS = 5;

const EXTRA: ExtraRules = {
  same: new Set(['seed', 'presence_penalty', 'frequency_penalty', 'top_k']),
  skipped: new Set(['prompt_cache_key', 'prompt_cache_retention', 'metadata']),
  leftOut: new Set(['logit_bias', 'prediction', 'safeguards', 'diagnostics', 'thinking']),
  isDefault: { ...CHAT_DEFAULTS, store: (value) => value === false },
};

function configOf(conversation: Conversation, context: RequestContext): Json {
  const { stops, format, isSerial, user, verbosity, serviceTier } = conversation;
  const { leaveOut, paramOf, cannotExpress } = context;
  if (stops && stops.length > MAX_STOPS) leaveOut(`${paramOf('stops')} (beyond ${MAX_STOPS})`);
  if (verbosity !== undefined) leaveOut(paramOf('verbosity'));
  if (user !== undefined) leaveOut(paramOf('user'));
  if (isSerial)
    leaveOut(context.from === 'messages' ? 'tool_choice.disable_parallel_tool_use' : 'parallel_tool_calls');
  if (serviceTier !== undefined && serviceTier !== 'auto' && serviceTier !== 'default')
    throw cannotExpress(paramOf('serviceTier'), 'use auto or default');
  const { seed, presence_penalty, frequency_penalty, top_k } = writtenExtra(conversation, EXTRA, context);
  return definedFields({
    maxOutputTokens: conversation.maxTokens,
    temperature: conversation.temperature,
    topP: conversation.topP,
    topK: top_k,
    stopSequences: stops?.slice(0, MAX_STOPS),
    seed,
    presencePenalty: presence_penalty,
    frequencyPenalty: frequency_penalty,
    responseMimeType: format && 'application/json',
    responseJsonSchema: format?.schema,
    thinkingConfig: thinkingConfig(conversation.reasoning, context.model),
  });
}

const MODES = { auto: 'AUTO', none: 'NONE', any: 'ANY' };

function toolConfig(choice: ToolChoice): Json {
  const mode = typeof choice === 'object' ? MODES.any : MODES[choice];
  const named = typeof choice === 'object' ? { allowedFunctionNames: [choice.name] } : {};
  return { functionCallingConfig: { mode, ...named } };
}

interface Content {
  role: 'user' | 'model';
  parts: Json[];
}

/** Results stand in a content of their own, right behind that of their calls. */
function contentsOf(turns: readonly Turn[], context: RequestContext): Content[] {
  const contents: Content[] = [];
  const names = new Map<string, string>();
  const add = (role: Content['role'], parts: Json[], isResults = false): void => {
    const last = contents.at(-1);
    const joins = last?.role === role && !isResults && !last.parts.some((part) => 'functionResponse' in part);
    if (last && joins) append(last.parts, parts);
    else if (parts.length > 0) contents.push({ role, parts });
  };
  for (const { role, parts } of turns) {
    if (role === 'assistant') {
      for (const { id, name } of parts.filter(isCall)) names.set(id, name);
      add('model', modelParts(parts, context));
    } else if (role === 'user') {
      // Where calls have no ids, the order says which results are theirs.
      const places = [...names.keys()];
      const results = parts.filter(isResult).sort((a, b) => places.indexOf(a.id) - places.indexOf(b.id));
      const media = results.flatMap((result) => result.parts.filter(({ type }) => type !== 'text'));
      const others = [...media, ...parts.filter((part) => !isResult(part))] as ContentPart[];
      add(
        'user',
        results.map((result) => resultPart(result, names.get(result.id) ?? '')),
        results.length > 0,
      );
      add(
        'user',
        others.flatMap((part) => contentPart(part, context)),
      );
    }
  }
  return contents;
}

/** A result's media follow it. */
function resultPart({ id, parts, isError }: ResultPart, name: string): Json {
  const texts = textsOf(parts);
  const text = texts.length === 0 && parts.length > 0 ? 'The result follows.' : texts.join('\n\n');
  return { functionResponse: { id, name, response: isError ? { error: text } : { output: text } } };
}

/**
 * What the model said. Its first call has the signature that it came with, or, where that is lost, what Google has models
 * of Gemini 3 take instead: https://ai.google.dev/gemini-api/docs/thought-signatures
 */
function modelParts(parts: readonly Part[], { dialect, model }: RequestContext): Json[] {
  const signatures = new Map(
    parts
      .filter(isReasoning)
      .flatMap(({ seals }) => seals.filter(({ kind }) => kind === 'calls'))
      .flatMap(({ values }) => values.map((value) => [value.id, signatureIn(value.extra_content)])),
  );
  const calls = parts.filter(isCall);
  const { standIn } = dialect;
  const isMissing = standIn?.models.test(model) && !calls.some(({ id }) => signatures.get(id));
  return parts.flatMap((part): Json[] => {
    if (part.type === 'text') return part.text === '' ? [] : [{ text: part.text }];
    if (!isCall(part)) return [];
    const own = signatures.get(part.id);
    const signature = own ?? (isMissing && part === calls[0] ? signatureIn(standIn?.extra) : undefined);
    const args = parseObject(part.args) ?? (part.args.trim() === '' ? {} : { arguments: part.args });
    const functionCall = { id: part.id, name: part.name, args };
    return [{ functionCall, ...(signature !== undefined && { thoughtSignature: signature }) }];
  });
}

function signatureIn(extra: unknown): string | undefined {
  const [{ google } = {} as Json] = objectsIn([extra]);
  const signature = isObject(google) ? google.thought_signature : undefined;
  return typeof signature === 'string' ? signature : undefined;
}

function contentPart(part: ContentPart, context: RequestContext): Json[] {
  switch (part.type) {
    case 'text':
      return part.text === '' ? [] : [{ text: part.text }];
    case 'audio': {
      const { data, format } = isObject(part.audio) ? part.audio : {};
      return [{ inlineData: { mimeType: `audio/${asText(format)}`, data } }];
    }
    default:
      return [mediaPart(part, context)];
  }
}

const DATA_URL = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w=.-]+)*;base64,/;
/** Names of types that clients use, and Google refuses. */
const MEDIA_TYPES: Readonly<Record<string, string>> = { 'image/jpg': 'image/jpeg' };

/**
 * Vertex AI wants the type of a file by address, Gemini finds it out:
 * https://docs.cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference
 */
const TYPES: Readonly<Record<string, string>> = {
  ...{ gif: 'image/gif', heic: 'image/heic', jpeg: 'image/jpeg', jpg: 'image/jpeg', png: 'image/png' },
  ...{ webp: 'image/webp', mp4: 'video/mp4', pdf: 'application/pdf' },
};

function mediaPart({ url, at }: MediaPart, { cannotExpress }: RequestContext): Json {
  const media = DATA_URL.exec(url);
  if (media) {
    const [{ length }, type = ''] = media;
    return { inlineData: { mimeType: lookUp(MEDIA_TYPES, type) ?? type, data: url.slice(length) } };
  }
  if (!/^(?:https?|gs):\/\//.test(url))
    throw cannotExpress(`${at}.url`, 'use an address, or a base64 data URL');
  const mimeType = lookUp(TYPES, /\.(\w+)(?:[?#].*)?$/.exec(url)?.[1]?.toLowerCase() ?? '');
  return { fileData: definedFields({ fileUri: url, mimeType }) };
}
