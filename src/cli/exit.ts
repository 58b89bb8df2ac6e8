import { GwError } from '../errors.ts';

/** The exit codes of gw. */
export const EXIT = {
  ok: 0,
  failure: 1,
  usage: 2,
  daemonDown: 3,
  key: 4,
  notFound: 5,
  overBudget: 6,
  interrupted: 130,
} as const;

/** A failure that ends a command. The message states the value, the reason and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: number;

  constructor(message: string, exitCode: number = EXIT.failure) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** Ends a command with an exit code and no message, such as the exit code of a child process. */
export class Exit extends Error {
  override readonly name = 'Exit';
  readonly exitCode: number;

  constructor(exitCode: number) {
    super(`exit ${exitCode}`);
    this.exitCode = exitCode;
  }
}

/** An error for an invalid command line: exit code 2. */
export const usageError = (message: string): CliError => new CliError(message, EXIT.usage);

/** Exit code of an error that a command threw. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError || error instanceof Exit) return error.exitCode;
  if (error instanceof GwError) return codeOfGwError(error);
  // Matched by name: importing the class would load the settings.
  if (error instanceof Error && error.name === 'SettingError') return EXIT.usage;
  return EXIT.failure;
}

function codeOfGwError({ type, status, code }: GwError): number {
  switch (type) {
    case 'not_found_error':
      return EXIT.notFound;
    case 'authentication_error':
    case 'permission_error':
      return EXIT.key;
    case 'invalid_request_error':
      return status === 400 ? EXIT.usage : EXIT.failure;
    case 'insufficient_quota':
      return code === 'budget_exceeded' ? EXIT.overBudget : EXIT.failure;
    case 'api_error':
      return code === 'server_unreachable' || code === 'team_unreachable' ? EXIT.daemonDown : EXIT.failure;
    case 'rate_limit_error':
      return EXIT.failure;
  }
}
