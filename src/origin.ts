/** The local program that sent a request. Fields are empty if unknown. */
export interface Origin {
  /** The program, with its script if the program is an interpreter: `claude`, `node agent.mjs`. */
  process: string;
  /** The git repository of its working directory, as the path of the main working tree. */
  repo: string;
  /** Resolves when the search for the origin has ended. Absent afterwards. */
  search?: Promise<void> | undefined;
}
