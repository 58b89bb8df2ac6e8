import type { ModelUsage } from '../../pricing/usage-payload.ts';
import type { TokenUsage } from '../../usage.ts';
import type { LineReader } from './read-lines.ts';

/** A model call as an agent's session log has it. Empty texts: the log doesn't say. */
export interface LoggedCall {
  /** Equal for all lines and copies of one call. */
  key: string;
  /** The provider's id of the answer, and that of the request. */
  messageId: string;
  requestId: string;
  /** The agent's own id of the session. */
  sessionId: string;
  agentVersion: string;
  /** The provider's name in the agent's settings. */
  provider: string;
  model: string;
  /** When the answer ended, UTC milliseconds. */
  at: number;
  usage: TokenUsage;
  /** The usage by model, where several worked on the answer. */
  parts?: readonly ModelUsage[];
  /** The service options that the answer reports, by field: `speed`, `inference_geo`. */
  terms?: Readonly<Record<string, string>>;
  /** Searches of the web, which are billed beside tokens. */
  searches?: number;
  /** The folder that the agent worked in. */
  cwd: string;
}

/** Reads one log file, line by line: later lines may need what earlier ones said. */
export interface LogParser {
  /** The call that a line reports. Lines of a call that repeat it have its key. Throws for a damaged line. */
  parse(line: string): LoggedCall | undefined;
}

/** Where an agent keeps its session logs, and how they are read as JSON lines. */
export interface AgentLog {
  /** The folders that may have logs, at any depth. */
  folders(places: LogPlaces): readonly string[];
  isLog(fileName: string): boolean;
  /** Whether a line is from a log of this agent, in a file of any name: JSON, or a text that is none. */
  recognizes(line: unknown, path: string): boolean;
  /** A line that has none of these texts needs no parsing. */
  markers: readonly string[];
  createParser(): LogParser;
  /** Reads a file that is no text as lines. */
  readLines?: LineReader;
}

export interface LogPlaces {
  /** The user's home directory. */
  home: string;
  env: Readonly<Record<string, string | undefined>>;
}

/**
 * One call of two reports of it: the complete usage, and the rest of the earlier report. Of a copied session both are of
 * the same time: the second one stands, which is of the older file.
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

function total({ usage }: LoggedCall): number {
  return usage.inputTokens + usage.outputTokens;
}
