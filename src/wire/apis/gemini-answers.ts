import { isObject, objectsIn } from '../../json/object.ts';
import { first } from '../../pricing/payload-fields.ts';
import type { TokenUsage } from '../../usage.ts';
import { describeError, eventsIn, parseObject, valuesIn } from '../answer/events.ts';
import type { InspectedEvents, LimitEnding } from '../answer/inspected-events.ts';
import { addUsage } from '../answer/usage.ts';
import type { AnswerWire } from '../wire.ts';

type Json = Record<string, unknown>;

/** Reads Gemini's answers: https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse */
export const geminiAnswers: Omit<AnswerWire, 'endpoint'> = {
  usageOf: (answer) => usageIn(parseObject(answer.toString('utf8'))),
  inspect,
  hasContent: (events) =>
    [...valuesIn(events)].some((value) => isOver(value) || partsOf(value).some(({ text }) => text !== '')),
  isOver: (events) => [...valuesIn(events)].some(isOver),
  endAtLimit,
  textOf: (answer, stream) => {
    const values = stream ? [...valuesIn(answer)] : [parseObject(answer.toString('utf8')) ?? {}];
    return [values.flatMap((value) => partsOf(value).map(textOfPart)).join('')];
  },
};

const MARKS = /"usageMetadata"|"error"/;

/** A stream has no closing event: it ends with the connection. Each event has the usage so far. */
function inspect(events: Buffer): InspectedEvents {
  const result: InspectedEvents = { pass: events };
  if (!MARKS.test(events.toString('latin1'))) return result;
  for (const { data } of eventsIn(events)) {
    const value = parseObject(data);
    if (value?.error) result.error = describeError(value.error);
    const usage = usageIn(value);
    if (!value || usage === undefined) continue;
    result.usage = addUsage(result.usage, usage);
    result.usageIs = objectsIn(value.candidates).every(isFinished) ? undefined : 'so far';
  }
  return result;
}

const isFinished = ({ finishReason }: Json): boolean => typeof finishReason === 'string';

/** Whether an answer has ended, or its prompt was blocked. */
const isOver = ({ candidates, promptFeedback }: Json): boolean =>
  objectsIn(candidates).some(isFinished) ||
  (isObject(promptFeedback) && typeof promptFeedback.blockReason === 'string');

const partsOf = ({ candidates }: Json): Json[] =>
  objectsIn(candidates).flatMap(({ content }) => (isObject(content) ? objectsIn(content.parts) : []));

/** What the model generated of a part, without the signature. */
function textOfPart({ text, functionCall, executableCode }: Json): string {
  if (typeof text === 'string') return text;
  const { name, args, code } = {
    ...(isObject(functionCall) ? functionCall : (executableCode ?? {})),
  } as Json;
  if (typeof code === 'string') return code;
  return typeof name === 'string' ? name + (JSON.stringify(args) ?? '') : '';
}

/**
 * The usage in the words of chat completions. Google counts thoughts, and the input that tools add, beside the other
 * counts: https://ai.google.dev/api/generate-content#UsageMetadata
 */
export function usageIn(answer: Json | undefined): Json | undefined {
  const usage = answer?.usageMetadata;
  if (!isObject(usage)) return undefined;
  const { promptTokenCount, candidatesTokenCount, thoughtsTokenCount, totalTokenCount } = usage;
  const tools = first(usage.toolUsePromptTokenCount);
  const input = first(promptTokenCount) + tools;
  const thoughts = first(thoughtsTokenCount);
  const prompt = kinds(usage.promptTokensDetails);
  const ofTools = kinds(usage.toolUsePromptTokensDetails);
  const cached = kinds(usage.cacheTokensDetails);
  const output = kinds(usage.candidatesTokensDetails);
  return {
    prompt_tokens: input,
    prompt_tokens_details: {
      cached_tokens: first(usage.cachedContentTokenCount),
      audio_tokens: prompt.AUDIO + ofTools.AUDIO,
      image_tokens: prompt.IMAGE + ofTools.IMAGE,
      cached_tokens_details: { audio_tokens: cached.AUDIO, image_tokens: cached.IMAGE },
    },
    completion_tokens: first(candidatesTokenCount) + thoughts,
    completion_tokens_details: {
      reasoning_tokens: thoughts,
      audio_tokens: output.AUDIO,
      image_tokens: output.IMAGE,
    },
    ...(typeof totalTokenCount === 'number' && { total_tokens: totalTokenCount }),
    // Of Vertex AI, where a header asks for a dearer one.
    ...(usage.trafficType === 'ON_DEMAND_PRIORITY' && { traffic_type: 'priority' }),
  };
}

/** Counts by modality. Text, video and documents have the price of text. */
function kinds(details: unknown): { AUDIO: number; IMAGE: number } {
  const counts = { AUDIO: 0, IMAGE: 0 };
  for (const { modality, tokenCount } of objectsIn(details))
    if (modality === 'AUDIO' || modality === 'IMAGE') counts[modality] += first(tokenCount);
  return counts;
}

function endAtLimit(): LimitEnding {
  let last: Json = {};
  return {
    take(events) {
      for (const value of valuesIn(events)) last = value;
    },
    end(usage) {
      const { responseId, modelVersion } = last;
      const candidates = [
        { content: { role: 'model', parts: [{ text: '' }] }, finishReason: 'MAX_TOKENS', index: 0 },
      ];
      const answer = {
        candidates,
        ...(usage && { usageMetadata: metadataOf(usage) }),
        modelVersion,
        responseId,
      };
      return Buffer.from(`data: ${JSON.stringify(answer)}\n\n`);
    },
  };
}

const metadataOf = ({ inputTokens, cachedInputTokens, outputTokens, reasoningTokens }: TokenUsage): Json => ({
  promptTokenCount: inputTokens,
  ...(cachedInputTokens > 0 && { cachedContentTokenCount: cachedInputTokens }),
  candidatesTokenCount: outputTokens - reasoningTokens,
  ...(reasoningTokens > 0 && { thoughtsTokenCount: reasoningTokens }),
  totalTokenCount: inputTokens + outputTokens,
});
