/** The part of WebAssembly that is used here: Node has it, but its types come with browsers. */
declare namespace WebAssembly {
  class Module {
    constructor(code: Uint8Array);
    static imports(module: Module): readonly { readonly module: string; readonly name: string }[];
  }
  class Instance {
    readonly exports: Readonly<Record<string, unknown>>;
    constructor(module: Module, imports?: object);
  }
  /** Thrown when code traps. */
  class RuntimeError extends Error {}
  class Memory {
    /** A new buffer after the memory has grown; views of the old buffer are empty then. */
    readonly buffer: ArrayBuffer;
  }
}
