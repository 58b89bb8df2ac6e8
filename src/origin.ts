/** Which program of this machine a request came from. Empty: not known. */
export interface Origin {
  /** The program, with the script that it runs: `claude`, `node agent.mjs`. */
  process: string;
  /** The git repository that it works in, as the path of its main working tree. */
  repo: string;
  /** Resolves when the search for it has ended; absent once it has. */
  search?: Promise<void> | undefined;
}
