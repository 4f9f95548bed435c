<?php
namespace Coderunner;

/** The standard streams, which PHP would duplicate; WASI cannot. All else is PHP's own. */
class Streams
{
    private const FILES = ['php://stdin' => '/dev/stdin', 'php://stdout' => '/dev/stdout', 'php://stderr' => '/dev/stderr'];
    public $context;
    private $inner;

    public function stream_open($path, $mode, $options, &$opened)
    {
        $file = self::FILES[strtolower($path)] ?? null;
        if ($file !== null) {
            $this->inner = \fopen($file, strpbrk($mode, 'wax+c') ? 'w' : 'r');
        } else {
            \stream_wrapper_restore('php');
            $this->inner = \fopen($path, $mode);
            self::register();
        }
        return $this->inner !== false;
    }

    public static function register()
    {
        \stream_wrapper_unregister('php');
        \stream_wrapper_register('php', self::class);
    }

    public function stream_read($n) { return \fread($this->inner, $n); }
    public function stream_write($data) { return \fwrite($this->inner, $data); }
    public function stream_eof() { return \feof($this->inner); }
    public function stream_flush() { return \fflush($this->inner); }
    public function stream_seek($at, $whence) { return \fseek($this->inner, $at, $whence) === 0; }
    public function stream_tell() { return \ftell($this->inner); }
    public function stream_stat() { return \fstat($this->inner); }
    public function stream_truncate($n) { return \ftruncate($this->inner, $n); }
    public function stream_set_option() { return false; }
    public function stream_lock() { return true; }
    public function stream_close() { \fclose($this->inner); }
}

/** The file that is included as a program. */
class Program
{
    public const SOURCE = __FILE__;
    public static $now, $env = [], $later = [], $standard = [];
    public $context;
    private $text, $at = 0;

    public function stream_open($path, $mode, $options, &$opened)
    {
        $p = self::$now;
        $this->text = $p['file'] === '' ? $p['code'] : \file_get_contents($p['file']);
        if (str_starts_with($this->text, '#!')) {
            $rest = strstr($this->text, "\n");
            $this->text = str_starts_with($rest, "\n<?php") ? "<?php\n" . substr($rest, 6) : '<?php ?>' . $rest;
        }
        $opened = $p['file'] === '' ? $p['name'] : $p['file'];
        return true;
    }

    public function stream_read($n)
    {
        $this->at += $n;
        return substr($this->text, $this->at - $n, $n);
    }

    public function stream_eof() { return $this->at >= strlen($this->text); }
    public function stream_stat() { return []; }
    public function stream_set_option() { return false; }
    public function stream_close() {}
}

/** What the host calls before a program. */
function begin($json)
{
    $p = Program::$now = json_decode($json, true);
    ini_set('display_errors', '1');
    foreach ($p['ini'] as $name => $value) {
        ini_set($name, $value);
    }
    error_clear_last();
    clearstatcache(true);
    chdir($p['dir']);
    Program::$env = [];
    array_map('putenv', $p['env']);
    $GLOBALS['argv'] = [$p['name'], ...$p['args'] ?? []];
    $GLOBALS['argc'] = count($GLOBALS['argv']);
    $script = $p['file'] === '' ? '' : $p['name'];
    $_ENV = Program::$env;
    $_SERVER = $_ENV + [
        'PHP_SELF' => $script, 'SCRIPT_NAME' => $script, 'SCRIPT_FILENAME' => $script, 'PATH_TRANSLATED' => $script, 'DOCUMENT_ROOT' => '',
        'REQUEST_TIME' => time(), 'REQUEST_TIME_FLOAT' => microtime(true), 'argv' => $GLOBALS['argv'], 'argc' => $GLOBALS['argc'],
    ];
    foreach (['STDIN' => 'r', 'STDOUT' => 'w', 'STDERR' => 'w'] as $stream => $mode) {
        // In a session they have the descriptors of the first ones, whose constants stay.
        Program::$standard[] = $f = fopen('/dev/' . strtolower($stream), $mode);
        defined($stream) || define($stream, $f);
    }
}

/** Ends a program that has thrown what nothing catches, or exit's own. */
function failed($e)
{
    if ($e instanceof \Throwable) {
        $handler = set_exception_handler(null);
        $handler ? $handler($e) : throw $e;
    }
}

function shutdown()
{
    while ($next = array_shift(Program::$later)) {
        [$callback, $args] = $next;
        $callback(...$args);
    }
}

/** Returns what a program leaves, as JSON. */
function finish()
{
    $left = [];
    $e = error_get_last();
    $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
    if ($e !== null && ($e['type'] & $fatal)) {
        $left['fatal'] = [...$e, 'parse' => $e['type'] === E_PARSE];
    }
    if (Program::$now['session']) {
        while (ob_get_level() > 0 && ob_end_flush());
        foreach (get_resources('stream') as $f) { // their descriptors end with the process
            in_array($f, Program::$standard, true) || fclose($f);
        }
        $left['variables'] = variables();
    }
    return json_encode($left, JSON_INVALID_UTF8_SUBSTITUTE);
}

function variables()
{
    static $begun = ['argv', 'argc', '_SERVER', '_GET', '_POST', '_COOKIE', '_FILES', '_ENV', '_REQUEST', '_SESSION', 'GLOBALS'];
    $list = [];
    foreach ($GLOBALS as $name => $value) {
        in_array($name, $begun, true) || $list[] = ['name' => '$' . $name, 'type' => get_debug_type($value)];
    }
    $own = fn($name) => !str_starts_with(strtolower($name), 'coderunner\\');
    foreach (get_defined_functions()['user'] as $name) {
        $ours = new \ReflectionFunction($name);
        $own($name) && !str_starts_with($ours->getFileName(), Program::SOURCE) && $list[] = ['name' => $ours->getName(), 'type' => 'function'];
    }
    foreach (array_filter(get_declared_classes(), $own) as $name) {
        (new \ReflectionClass($name))->isInternal() || $list[] = ['name' => $name, 'type' => 'class'];
    }
    return $list;
}

/** Starts a command of the shell and returns its exit status and what it printed. */
function start($command)
{
    if ($command === '') {
        throw new \ValueError('the command cannot be empty');
    }
    flush();
    $env = array_map(fn($k, $v) => "$k=$v", array_keys(Program::$env), Program::$env);
    $f = fopen('/dev/process', 'r+b');
    fwrite($f, implode("\0", ['o', getcwd(), $command, ...$env]));
    $answer = explode("\n", stream_get_contents($f), 2);
    fclose($f);
    return [(int) $answer[0], $answer[1] ?? ''];
}

/** Throws for a function, from where the program has called it. */
function refuse($name)
{
    $e = new \Error("$name() starts a process that runs beside this one, which PHP in WebAssembly cannot; shell_exec() waits for one");
    $at = debug_backtrace()[1];
    foreach (['file', 'line'] as $part) {
        (new \ReflectionProperty(\Error::class, $part))->setValue($e, $at[$part]);
    }
    throw $e;
}

// In place of PHP's own, which know of no processes here, and of no environment but what it began with.
eval(<<<'PHP'
    function exec(string $command, &$output = null, &$result_code = null): string|false
    {
        [$result_code, $text] = \Coderunner\start($command);
        $lines = $text === '' ? [] : array_map('rtrim', explode("\n", preg_replace('/\n$/', '', $text)));
        $output = [...(is_array($output) ? $output : []), ...$lines];
        return $lines ? end($lines) : '';
    }
    function shell_exec(string $command): string|false|null
    {
        $text = \Coderunner\start($command)[1];
        return $text === '' ? null : $text;
    }
    function passthru(string $command, &$result_code = null): false|null
    {
        [$result_code, $text] = \Coderunner\start($command);
        echo $text;
        return null;
    }
    function system(string $command, &$result_code = null): string|false
    {
        [$result_code, $text] = \Coderunner\start($command);
        echo $text;
        return rtrim(substr($text, (int) strrpos(rtrim($text), "\n")));
    }
    function putenv(string $assignment): bool
    {
        [$name, $value] = [...explode('=', $assignment, 2), null];
        \Coderunner\Program::$env[$name] = $value;
        \Coderunner\Program::$env = array_filter(\Coderunner\Program::$env, fn($value) => $value !== null);
        return true;
    }
    function getenv(?string $name = null, bool $local_only = false): string|array|false
    {
        return $name === null ? \Coderunner\Program::$env : \Coderunner\Program::$env[$name] ?? false;
    }
    function register_shutdown_function(callable $callback, mixed ...$args): void
    {
        \Coderunner\Program::$later[] = [$callback, $args];
    }
    function popen(...$args)
    {
        \Coderunner\refuse('popen');
    }
    function proc_open($command, array $spec, &$pipes = null, ...$rest)
    {
        \Coderunner\refuse('proc_open');
    }
    PHP);

Streams::register();
stream_wrapper_register('coderunner', Program::class);
ini_set('display_errors', '0');
trigger_error('', E_USER_ERROR); // it bails out
