import type { Clock } from '../../clock.ts';
import type { BaseScope } from './prompt-bases.ts';

/** A response that its provider stores, so that a request can continue it by its id. */
export interface StoredResponse {
  /** Input tokens that the provider reported for its request. */
  inputTokens: number;
  outputTokens: number;
  /** Upper bound of the reasoning in it and in all that it continues, which the provider may have left out. */
  reasoningTokens: number;
  /** White space at the end of the request's last text, which a template may have removed. */
  trailingSpace: number;
  /** The options that change how a prompt is rendered. */
  options: string;
}

/** The answer that reported a response's tokens. */
interface ResponseSource {
  /** The model that the answer names. */
  served: string;
  lifetimeMs: number;
}

/** The responses that went through gw. In memory only: forgetting one is always safe. */
export type ContinuedResponses = ReturnType<typeof createContinuedResponses>;

/** Limit for all models together: some 4 MB. */
const MAX_RESPONSES = 10_000;

interface Kept extends StoredResponse {
  scope: BaseScope;
  served: string;
  expiresAt: number;
}

export function createContinuedResponses(clock: Pick<Clock, 'monotonic'>) {
  const responses = new Map<string, Kept>();
  const served = new Map<string, string>();

  /** Forgets all of a model's name. */
  function forget(model: string): void {
    for (const [id, { scope }] of responses) if (scope.model === model) responses.delete(id);
    served.delete(model);
  }

  return {
    find({ model, key }: BaseScope, id: string): StoredResponse | undefined {
      const kept = responses.get(id);
      if (!kept || kept.expiresAt <= clock.monotonic()) return undefined;
      return kept.scope.model === model && kept.scope.key === key ? kept : undefined;
    },
    /** Forgets all of the model's name first if another model has answered to it before. */
    remember(scope: BaseScope, id: string, response: StoredResponse, source: ResponseSource) {
      const before = served.get(scope.model);
      if (before !== undefined && before !== source.served) forget(scope.model);
      served.set(scope.model, source.served);
      responses.delete(id);
      if (responses.size >= MAX_RESPONSES)
        for (const oldest of responses.keys()) if (responses.delete(oldest)) break;
      const expiresAt = clock.monotonic() + source.lifetimeMs;
      responses.set(id, { ...response, scope, served: source.served, expiresAt });
    },
    forget,
  };
}
