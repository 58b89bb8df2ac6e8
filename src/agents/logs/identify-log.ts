import type { AgentLog } from './logged-call.ts';
import { readLines } from './read-lines.ts';

/** Limit of the lines to inspect; the first lines may fit any agent. */
const MAX_LINES = 1_000;

/** Identifies the agent that wrote a file by its content. Rejects if the file can't be read. */
export async function identifyLog<Agent extends { log?: AgentLog }>(
  path: string,
  agents: readonly Agent[],
): Promise<Agent | undefined> {
  let lines = 0;
  let found: Agent | undefined;
  const onLine = (line: Buffer | undefined) => {
    if (found || ++lines > MAX_LINES || !line) return;
    const value = jsonOf(line.toString());
    found = agents.find(({ log }) => log?.recognizes(value, path));
  };
  await readLines(path, { onLine, isOver: () => found !== undefined || lines > MAX_LINES });
  return found;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
