import { isObject, objectsIn } from '../../../json/object.ts';
import { parseObject } from '../../../wire/answer/events.ts';
import type { AnswerEvent, AnswerReader, AnswerUsage, EndReason } from '../../conversation/answer.ts';
import { countIn, type Json, lookUp } from '../../json.ts';
import { plainId } from '../../repair/ids.ts';

/** Finish reasons that are no plain end: https://ai.google.dev/api/generate-content#FinishReason */
const REASONS: Readonly<Record<string, EndReason>> = {
  MAX_TOKENS: 'length',
  SAFETY: 'filter',
  RECITATION: 'filter',
  LANGUAGE: 'filter',
  BLOCKLIST: 'filter',
  PROHIBITED_CONTENT: 'filter',
  SPII: 'filter',
  IMAGE_SAFETY: 'filter',
};

/** Reads Gemini's answers: https://ai.google.dev/api/generate-content#v1beta.GenerateContentResponse */
export class GeminiAnswerReader implements AnswerReader {
  readonly #newId: (prefix: string) => string;
  #hasBegun = false;
  #hasEnded = false;
  #reason: EndReason | undefined;
  #callCount = 0;
  /** Of a thought or a text before a call: https://github.com/BerriAI/litellm/issues/25322 */
  #signature: unknown;

  constructor(newId: (prefix: string) => string) {
    this.#newId = newId;
  }

  event(data: string): AnswerEvent[] {
    const answer = parseObject(data);
    return answer ? this.#add(answer) : [];
  }

  whole(answer: Json): AnswerEvent[] {
    const events = this.#add(answer);
    this.#reason ??= 'stop';
    return [...events, ...this.end()];
  }

  /** A stream has no closing event. Without a finish reason it broke off. */
  end(): AnswerEvent[] {
    if (this.#hasEnded || this.#reason === undefined) return [];
    this.#hasEnded = true;
    return [{ type: 'end', reason: this.#reason }];
  }

  #add({ candidates, promptFeedback, usageMetadata, modelVersion, responseId, error }: Json): AnswerEvent[] {
    if (this.#hasEnded) return [];
    if (error) {
      this.#hasEnded = true;
      return [{ type: 'error', error }];
    }
    const events: AnswerEvent[] = [];
    if (!this.#hasBegun) {
      this.#hasBegun = true;
      events.push({ type: 'start', id: responseId, model: modelVersion });
    }
    const [candidate] = objectsIn(candidates);
    const { content, finishReason } = candidate ?? {};
    for (const part of isObject(content) ? objectsIn(content.parts) : []) events.push(...this.#part(part));
    if (isObject(usageMetadata)) events.push({ type: 'usage', usage: usageOf(usageMetadata) });
    if (typeof finishReason === 'string')
      this.#reason = lookUp(REASONS, finishReason) ?? (this.#callCount > 0 ? 'calls' : 'stop');
    else if (isObject(promptFeedback) && promptFeedback.blockReason) this.#reason = 'filter';
    return events;
  }

  #part({ text, thought, thoughtSignature, functionCall }: Json): AnswerEvent[] {
    if (isObject(functionCall)) return this.#call(functionCall, thoughtSignature ?? this.#signature);
    this.#signature = thoughtSignature ?? this.#signature;
    if (typeof text !== 'string' || text === '') return [];
    return [{ type: thought === true ? 'reasoning' : 'text', text }];
  }

  /** A call comes whole. Models before Gemini 3 give it no id. */
  #call({ id: given, name, args }: Json, signature: unknown): AnswerEvent[] {
    if (typeof name !== 'string') return [];
    const key = this.#callCount++;
    this.#signature = undefined;
    const id = typeof given === 'string' && given !== '' ? plainId(given) : this.#newId('call');
    const values = [{ id, extra_content: { google: { thought_signature: signature } } }];
    return [
      ...(typeof signature === 'string' ? [{ type: 'seal', seal: { kind: 'calls', values } } as const] : []),
      { type: 'call', key, id, name },
      { type: 'arguments', key, text: JSON.stringify(args ?? {}) },
    ];
  }
}

/** Thoughts, and the input that tools add, are beside the other counts: https://ai.google.dev/api/generate-content#UsageMetadata */
function usageOf(usage: Json): AnswerUsage {
  const input = countIn(usage.promptTokenCount) + countIn(usage.toolUsePromptTokenCount);
  const reasoning = countIn(usage.thoughtsTokenCount);
  return {
    input,
    cached: countIn(usage.cachedContentTokenCount),
    written: 0,
    output: countIn(usage.candidatesTokenCount) + reasoning,
    reasoning,
  };
}
