import type { ModelUsage } from '../../pricing/usage-payload.ts';
import type { TokenUsage } from '../../usage.ts';
import type { LineReader } from './read-lines.ts';

/** A model call in an agent's session log. Empty strings: not in the log. */
export interface LoggedCall {
  /** Identifies a call: equal in all its lines and copies. */
  key: string;
  /** The provider's ids of the answer and the request. */
  messageId: string;
  requestId: string;
  /** The agent's session id. */
  sessionId: string;
  agentVersion: string;
  /** The provider's name in the agent's settings. */
  provider: string;
  model: string;
  /** When the answer ended, UTC milliseconds. */
  at: number;
  usage: TokenUsage;
  /** Usage by model, if several models produced the answer. */
  parts?: readonly ModelUsage[];
  /** Service options that the answer reports, by field: `speed`, `inference_geo`. */
  terms?: Readonly<Record<string, string>>;
  /** Web searches, which are billed per call. */
  searches?: number;
  /** The agent's working directory. */
  cwd: string;
}

/** Parses one log file line by line. Stateful: later lines may depend on earlier ones. */
export interface LogParser {
  /** The call that a line reports. Repeated lines of a call have the same key. Throws if the line is damaged. */
  parse(line: string): LoggedCall | undefined;
}

/** Location and JSON-lines format of an agent's session logs. */
export interface AgentLog {
  /** Folders to search recursively. */
  folders(places: LogPlaces): readonly string[];
  isLog(fileName: string): boolean;
  /**
   * Whether a line is from this agent's log, in a file of any name. `line`: parsed JSON, or a string if it isn't JSON.
   */
  recognizes(line: unknown, path: string): boolean;
  /** A line without any of these strings is skipped unparsed. */
  markers: readonly string[];
  createParser(): LogParser;
  /** Reads a binary log as lines. */
  readLines?: LineReader;
  /** Whether a file for `readLines` has lines of text all the same, and more are only added. */
  hasLines?(path: string): boolean;
}

export interface LogPlaces {
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * Merges two reports of a call: usage from the more complete one, other fields from the earlier one. Reports in a
 * copied session have equal times; then `b` wins, because its file is older.
 */
export function mergeCalls(a: LoggedCall, b: LoggedCall): LoggedCall {
  const fuller = total(b) > total(a) ? b : a;
  const earlier = b.at <= a.at ? b : a;
  if (fuller === earlier) return fuller;
  const { parts, terms, searches, usage } = fuller;
  return {
    ...earlier,
    usage,
    ...(parts && { parts }),
    ...(terms && { terms }),
    ...(searches !== undefined && { searches }),
  };
}

const total = ({ usage }: LoggedCall): number => usage.inputTokens + usage.outputTokens;
