import type { GwError } from '../errors.ts';
import type { Dialect } from '../providers/dialects/dialect.ts';
import type { Seal } from './conversation/conversation.ts';
import type { Json } from './json.ts';
import type { LeaveOut } from './left-out.ts';

/** The APIs between which gw translates, by the endpoint of their requests. */
export type Api = 'chat/completions' | 'messages' | 'responses' | 'gemini';

/** What a request's translation knows besides its body. Plain data, so that another thread can be sent it. */
export interface BodyOptions {
  /** The provider's name, and its name of the model. The translated request keeps the client's name. */
  provider: string;
  model: string;
  /** Output limit for APIs that require one, where the client sets none. */
  maxTokens: number;
  /** The most that the model can write; undefined if unknown. */
  maxOutputTokens?: number | undefined;
  /** The chat completion field for the output limit. */
  outputLimit: 'max_tokens' | 'max_completion_tokens';
  dialect: Dialect;
  /** Whether the client is Codex. It offers web search with every request, so the tool is dropped. */
  isCodex: boolean;
}

/** What readers and writers of requests share. */
export interface RequestContext extends BodyOptions {
  from: Api;
  leaveOut: LeaveOut;
  /** A GwError 400 for a field of the client's that the provider's API doesn't have. */
  cannotExpress(param: string, hint?: string): GwError;
  /** Throws GwError 400 if any remaining field of the object at `at` has a value. */
  refuseRest(rest: Json, at: string): void;
  /** The client's name of a field of the conversation. */
  paramOf(field: string): string;
  /** A seal that the provider can read. */
  unseal(text: unknown): Seal | undefined;
  /** An item of an earlier answer by its id. */
  recall(id: string): Json | undefined;
}
