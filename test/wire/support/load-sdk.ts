/**
 * A client library, or undefined where it is not installed: its tests are skipped then. `T` is what the test uses of
 * it, written out, so that the tests are type-checked without it.
 */
export async function loadSdk<T>(name: string): Promise<T | undefined> {
  try {
    return (await import(name)) as T;
  } catch (error) {
    if (
      /ERR_MODULE_NOT_FOUND|Cannot find|Failed to (load|resolve)|does the file exist/i.test(String(error))
    ) {
      console.warn(`${name} is not installed; its tests are skipped. To run them: npm install -D ${name}`);
      return undefined;
    }
    throw error;
  }
}
