/** What a provider does differently from the documents of its API. Plain data: it is read in other threads too. */
export interface Dialect {
  /**
   * Whether `reasoning_content` may go back with the message that it came with: `required` beside tool calls, or 400;
   * `refused`, also from clients that bring it back. Undefined for providers that may refuse the field.
   */
  reasoning?: 'required' | 'kept' | 'refused';
  /** Takes back `reasoning_details` of a message. */
  details?: boolean;
  /** Takes back `extra_content` of tool calls, with signatures. Others may refuse the field. */
  extras?: boolean;
  /** Models that refuse a turn with calls whose first has no `extra_content`, and what they take instead. */
  standIn?: { models: RegExp; extra: Readonly<Record<string, unknown>> };
  /** Takes `reasoning_text` and `reasoning_opaque` of a message back. */
  opaque?: boolean;
  /** Takes `cache_control` in parts of a message. */
  cacheMarks?: boolean;
  /** Models that are reached by /v1/responses where a client doesn't speak its API: always, or to use tools. */
  responses?: { always: RegExp; withTools: RegExp };
  /** Has no /v1/responses, so that nobody has to ask. */
  lacksResponses?: boolean;
  /** False: refuses `strict` in tools. */
  strictTools?: boolean;
  /** The length of ids of tool calls, of letters and digits alone. Default: ids that OpenAI and Anthropic take. */
  toolIds?: number;
  /** Refuses JSON Schema beyond OpenAPI's: https://ai.google.dev/api/caching#Schema */
  plainSchemas?: boolean;
  /** The most stop sequences; OpenAI's 4 by default. */
  maxStops?: number;
  /** System messages only before all others. */
  systemFirst?: boolean;
  /** False: refuses a user's message behind a tool's. */
  userBehindTool?: boolean;
  /** Takes no choice of tools but `auto`. */
  onlyAutoTools?: boolean;
  /** Fields that a translated request has besides. */
  adds?: Readonly<Record<string, unknown>>;
  /** Fields of a request that it refuses, of those that gw adds. */
  refuses?: readonly string[];
}
