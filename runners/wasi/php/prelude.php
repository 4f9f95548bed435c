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

/** Starts a command of the shell and returns its exit status and what it printed. */
function start($command)
{
    if ($command === '') {
        throw new \ValueError('the command cannot be empty');
    }
    flush();
    $env = getenv(null, true);
    $env = array_map(fn($k, $v) => "$k=$v", array_keys($env), $env);
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

// In place of PHP's own, which know of no processes here.
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
    function popen(...$args)
    {
        \Coderunner\refuse('popen');
    }
    function proc_open($command, array $spec, &$pipes = null, ...$rest)
    {
        \Coderunner\refuse('proc_open');
    }
    PHP);

(function () {
    @unlink(__FILE__);
    [$dir, $name, $report] = json_decode('$SETTINGS', true);
    @chdir($dir);
    Streams::register();
    foreach (['STDIN' => 'r', 'STDOUT' => 'w', 'STDERR' => 'w'] as $stream => $mode) {
        define($stream, fopen('/dev/' . strtolower($stream), $mode));
    }
    if ($name !== '') {
        $GLOBALS['argv'][0] = $_SERVER['argv'][0] = $name;
    }
    if ($report === '') {
        return;
    }
    register_shutdown_function(function () use ($report) {
        $e = error_get_last();
        $fatal = E_ERROR | E_PARSE | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR;
        if ($e !== null && ($e['type'] & $fatal)) {
            $e['parse'] = $e['type'] === E_PARSE;
            @file_put_contents($report, json_encode($e, JSON_INVALID_UTF8_SUBSTITUTE));
        }
    });
})();
